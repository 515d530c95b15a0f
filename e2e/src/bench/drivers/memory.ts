import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundled } from '../../harness/bundled.ts';
import { mcm } from '../../harness/mcm.ts';
import { rssMb } from '../../harness/process-usage.ts';
import { atMost, type Figure } from '../machines/figure.ts';

const LIMITS = { aws: 110, azure: 110, gcp: 110, local: 110 } as const;
const PROGRAMS = ['control-plane', 'machine-controller-manager', 'local-cloud', 'cloud-emulator', 'mcm'] as const;

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).map(Number);

const isMachineController = (pid: number, provider: string): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`/machine-controller-${provider}/dist/main.js`);

/** Yields the memory (RSS) of each bundled machine controller, shortly after its machines have joined. */
export async function* memoryOfBinaries(
  machines: number,
  providers: readonly string[] = Object.keys(LIMITS),
): AsyncGenerator<Figure> {
  const controllers = providers.map((provider) => `machine-controller-${provider}`);
  const bundles = await bundled([...PROGRAMS, ...controllers]);
  try {
    for (const [provider, limit] of Object.entries(LIMITS))
      if (providers.includes(provider)) yield await memoryOf(bundles.file('mcm'), provider, machines, limit);
  } finally {
    bundles.remove();
  }
}

async function memoryOf(program: string, provider: string, machines: number, limit: number): Promise<Figure> {
  const cwd = mkdtempSync(join(tmpdir(), 'mcm memory '));
  const run = mcm(['up', `--provider=${provider}`, `--machines=${machines}`, '--no-tty'], { cwd, program });
  try {
    await run.line(/^ready: /);
    const pid = childrenOf(run.child.pid ?? 0).find((each) => isMachineController(each, provider));
    const work = `${provider}: memory (RSS) of the machine controller with ${machines} machines`;
    return atMost(work, rssMb(pid ?? 0), limit, 'MB');
  } finally {
    run.child.kill('SIGTERM');
    await run.ended;
    rmSync(cwd, { recursive: true, force: true });
  }
}
