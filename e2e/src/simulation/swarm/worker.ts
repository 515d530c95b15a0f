import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { Case } from '../suites/suites.ts';
import type { Verdict } from './work.ts';

interface Job {
  readonly one: Case;
  readonly shrinks: boolean;
}

// Stack traces of refused requests would take 6% of the time, so they are disabled. The text of a violation is
// sufficient.
Error.stackTraceLimit = 0;

// Each thread enables the compile cache, because a thread does not use the cache of the main thread. Without the cache,
// the compilation of all modules takes longer than several histories.
enableCompileCache(fileURLToPath(new URL('../../../../node_modules/.cache/simulation', import.meta.url)));
const { playCase } = await import('../suites/suites.ts');
const { verify } = await import('./work.ts');
flushCompileCache();

/** Runs and verifies the cases that the main thread sends, one at a time. */
parentPort?.on('message', ({ one, shrinks }: Job) => {
  const answer = (verdict: Verdict): void => parentPort?.postMessage(verdict);
  void verify(one, playCase, shrinks ? undefined : 0).then(answer, (error: unknown) =>
    answer({ one, failure: { one, violations: [String(error)] } }),
  );
});
