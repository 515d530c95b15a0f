import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { Case } from '../suites/suites.ts';
import type { Verdict } from './work.ts';

interface Job {
  readonly one: Case;
  readonly shrinks: boolean;
}

// Stack traces are disabled, because the stack traces of refused requests would take 6% of the time.
Error.stackTraceLimit = 0;

// A thread does not use the compile cache of the main thread, so it enables the cache itself.
enableCompileCache(fileURLToPath(new URL('../../../../node_modules/.cache/simulation', import.meta.url)));
const { playCase } = await import('../suites/suites.ts');
const { verify } = await import('./work.ts');
flushCompileCache();

parentPort?.on('message', ({ one, shrinks }: Job) => {
  const answer = (verdict: Verdict): void => parentPort?.postMessage(verdict);
  void verify(one, playCase, shrinks ? undefined : 0).then(answer, (error: unknown) =>
    answer({ one, failure: { one, violations: [String(error)] } }),
  );
});
