import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atMost, type Figure } from '../bench/machines/figure.ts';
import { mcm } from '../harness/mcm.ts';
import { rssMb } from '../harness/process-usage.ts';

const LIMITS = { aws: 190, azure: 260, gcp: 290, local: 130 } as const;

/** Processes that a process has started. Linux only. */
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).map(Number);

const isMachineController = (pid: number, provider: string): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`/providers/${provider}/src/main.ts`);

/** Resident memory of each machine controller as a process, with so many machines that have just come up. */
export async function* memoryOfBinaries(
  machines: number,
  providers: readonly string[] = Object.keys(LIMITS),
): AsyncGenerator<Figure> {
  for (const [provider, limit] of Object.entries(LIMITS)) {
    if (!providers.includes(provider)) continue;
    const cwd = mkdtempSync(join(tmpdir(), 'mcm memory '));
    const run = mcm(['up', `--provider=${provider}`, `--machines=${machines}`, '--no-tty'], { cwd });
    try {
      await run.line(/^ready: /);
      const pid = childrenOf(run.child.pid ?? 0).find((each) => isMachineController(each, provider));
      yield atMost(
        `${provider}: RSS of its machine controller with ${machines} machines`,
        rssMb(pid ?? 0),
        limit,
        'MB',
      );
    } finally {
      run.child.kill('SIGTERM');
      await run.ended;
      rmSync(cwd, { recursive: true, force: true });
    }
  }
}
