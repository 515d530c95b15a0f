import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { binaryNamed } from './binaries.ts';
import { bundle } from './bundle.ts';

// usage: node --conditions=source tools/src/bundle/measure.ts: how long each bundled program of a pod takes from its start until it is
// ready beside an empty control plane, its CPU until then, and the memory it then has. Medians of five; figures of this machine, not a test.
const RUNS = 5;
const CONTROLLERS = [
  'machine-controller-manager',
  'machine-controller-local',
  'machine-controller-aws',
  'machine-controller-azure',
  'machine-controller-gcp',
] as const;

interface Started {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  stop(): Promise<void>;
}

/** Starts a program and resolves at its line `ready`. */
async function start(file: string, args: readonly string[]): Promise<Started> {
  const begin = performance.now();
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('ready')) break;
  const ms = performance.now() - begin;
  child.stdout.resume();
  // Fields after the name in parentheses; a hundred ticks a second on every Linux that Node runs on.
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * 10;
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { ms, cpuMs, rssMb: (Number(kb) * 1024) / 1e6, stop };
}

const median = (values: readonly number[]): string =>
  (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN).toFixed(0);

const folder = await mkdtemp(join(tmpdir(), 'mcm-measure-'));
const kubeconfig = join(folder, 'kubeconfig');
const plane = await bundle(binaryNamed('control-plane'), folder);
const server = await start(plane.file, ['--memory', '--port=0', `--kubeconfig=${kubeconfig}`]);
try {
  const flags = [
    `--control-kubeconfig=${kubeconfig}`,
    '--namespace=default',
    '--port=0',
    '--leader-elect=false',
    '--log-level=silent',
  ];
  const target = `--target-kubeconfig=${kubeconfig}`;
  for (const name of CONTROLLERS) {
    const { file } = await bundle(binaryNamed(name), folder);
    const runs: Started[] = [];
    for (let run = 0; run < RUNS; run++) {
      const started = await start(file, [...flags, target]);
      await started.stop();
      runs.push(started);
    }
    const of = (figure: (run: Started) => number): string => median(runs.map(figure));
    const [ms, cpu, mb] = [of((run) => run.ms), of((run) => run.cpuMs), of((run) => run.rssMb)];
    process.stdout.write(`${name}: ready after ${ms} ms (${cpu} ms of CPU), ${mb} MB resident\n`);
  }
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
