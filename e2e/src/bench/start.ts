import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ROOT } from '../docs/sources.ts';
import { cpuMs, rssMb } from '../harness/process-usage.ts';
import { atMost, type Figure, percentile } from './machines/figure.ts';

const RUNS = 5;
const COMMAND_RUNS = 10;
/** The goal for the start of a process applies to the commands of `mcm` too. */
const START_MS = 400;
const COMMAND_MS = 500;
const READY_MS = 2_000;

interface Said {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

interface Running extends Said {
  stop(): Promise<void>;
}

async function start(args: readonly string[]): Promise<Running> {
  const begin = performance.now();
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let ready = false;
  for await (const line of createInterface({ input: child.stdout })) {
    ready = line.startsWith('ready');
    if (ready) break;
  }
  const ms = performance.now() - begin;
  child.stdout.resume();
  const { pid } = child;
  if (pid === undefined || !ready) throw new Error(`${args.join(' ')}: ended before it was ready`);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { ms, cpuMs: cpuMs(pid), rssMb: rssMb(pid), stop };
}

const TELLS = `process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write('USED ' + (user + system) / 1e3 + ' ' + process.memoryUsage.rss() / 1e6 + '\\n');
});`;

interface Called {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly codes?: readonly number[];
}

async function whole(tells: string, { file, args, cwd = ROOT, codes = [0] }: Called): Promise<Said> {
  const begin = performance.now();
  const env = { ...process.env, NODE_OPTIONS: `--require="${tells}"` };
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile(file, args, { cwd, env }, (error, _out, text) => resolve({ code: error?.code ?? 0, stderr: text })),
  );
  if (!codes.some((one) => one === code)) throw new Error(`${file} ${args.join(' ')}: exit code ${code}: ${stderr}`);
  const ms = performance.now() - begin;
  const [, cpu, mb] = /^USED (\S+) (\S+)$/m.exec(stderr) ?? [];
  return { ms, cpuMs: Number(cpu), rssMb: Number(mb) };
}

async function untilReady(args: readonly string[]): Promise<Said> {
  const running = await start(args);
  await running.stop();
  return running;
}

async function medians(once: () => Promise<Said>, count = RUNS): Promise<Said> {
  const runs: Said[] = [];
  for (let run = 0; run < count; run += 1) runs.push(await once());
  const of = (figure: (run: Said) => number): number => percentile(runs.map(figure), 0.5);
  return { ms: of(({ ms }) => ms), cpuMs: of((run) => run.cpuMs), rssMb: of((run) => run.rssMb) };
}

const note = ({ cpuMs: cpu, rssMb: mb }: Said): string => `${cpu.toFixed(0)} ms CPU, ${mb.toFixed(0)} MB`;

/** Returns the flags with which each program becomes ready on an empty control plane. */
function readyFlags(kubeconfig: string, folder: string): Readonly<Record<string, readonly string[]>> {
  const common = [`--control-kubeconfig=${kubeconfig}`, '--port=0', '--leader-elect=false', '--log-level=silent'];
  const controller = [...common, `--target-kubeconfig=${kubeconfig}`, '--namespace=default'];
  return {
    'machine-controller-manager': controller,
    'machine-controller-local': controller,
    'machine-controller-aws': controller,
    'machine-controller-azure': controller,
    'machine-controller-gcp': controller,
    'machine-config-controller': controller,
    'machine-config-daemon': [...controller, `--root-mount=${folder}`, '--reboot-command=none'],
    'local-cloud': ['--memory', '--port=0'],
    'cloud-emulator': ['--provider=aws'],
    'control-plane': ['--memory', '--port=0', `--kubeconfig=${join(folder, 'another')}`],
  };
}

const COMMANDS = [['--help'], ['version'], ['completion', 'bash']] as const;

/** Measures commands that users run often, in a clone and with the fleet of `mcm up`. */
async function* dailyFigures(mcm: string, tells: string, folder: string): AsyncGenerator<Figure> {
  const daily = [
    { args: ['version'] },
    { args: ['--help'] },
    { args: ['tree'] },
    { args: ['explain', 'machinedeployment/workers'] },
    // The deployment in the example does not exist yet, so the plan contains steps, and the exit code is 1.
    { args: ['plan', '-f', join(ROOT, 'examples/machine-deployment.yaml')], codes: [1] },
  ];
  const fleet = await start([mcm, 'up', '--no-tty', '--quiet', `--data-dir=${join(folder, '.mcm')}`]);
  try {
    const called = { file: join(ROOT, 'mcm'), cwd: folder };
    // In a clone, the first command creates the bundles, so the benchmark does not measure this command.
    await whole(tells, { ...called, args: ['version'] });
    for (const one of daily) {
      const said = await medians(() => whole(tells, { ...called, ...one }), COMMAND_RUNS);
      yield atMost(`./mcm ${one.args.slice(0, 2).join(' ')}`, said.ms, COMMAND_MS, 'ms', note(said));
    }
  } finally {
    await fleet.stop();
  }
}

/** Measures how long each bundled program needs until it has started, and until it is ready. */
export async function* startFigures(): AsyncGenerator<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-start-'));
  const [kubeconfig, tells] = [join(folder, 'kubeconfig'), join(folder, 'tells.cjs')];
  writeFileSync(tells, TELLS);
  const fileOf = (name: string): string => join(folder, name, 'dist/main.js');
  const command = async (work: string, args: readonly string[]): Promise<Figure> => {
    const said = await medians(() => whole(tells, { file: process.execPath, args }));
    return atMost(work, said.ms, START_MS, 'ms', note(said));
  };
  const bundler = ['--conditions=source', join(ROOT, 'tools/src/bundle/main.ts'), '--into', folder];
  await promisify(execFile)(process.execPath, bundler);
  const plane = await start([fileOf('control-plane'), '--memory', '--port=0', `--kubeconfig=${kubeconfig}`]);
  try {
    for (const [name, flags] of Object.entries(readyFlags(kubeconfig, folder))) {
      yield await command(`${name} prints its --help`, [fileOf(name), '--help']);
      const served = await medians(() => untilReady([fileOf(name), ...flags]));
      yield atMost(`${name}: ready`, served.ms, READY_MS, 'ms', note(served));
    }
    for (const args of COMMANDS) yield await command(`mcm ${args.join(' ')}`, [fileOf('mcm'), ...args]);
    const conformance = ['--conditions=source', join(ROOT, 'packages/conformance/src/main.ts'), '--help'];
    yield await command('mcm-conformance, started from its sources, prints its --help', conformance);
    yield* dailyFigures(fileOf('mcm'), tells, folder);
  } finally {
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
