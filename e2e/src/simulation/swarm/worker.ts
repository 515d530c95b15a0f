import { parentPort } from 'node:worker_threads';
import { type Case, playCase } from '../suites/suites.ts';
import { type Verdict, verify } from './work.ts';

interface Job {
  readonly one: Case;
  readonly shrinks: boolean;
}

// Stack traces are disabled, because those of refused requests would take 6% of the time. The text of a violation is
// sufficient.
Error.stackTraceLimit = 0;

/** Runs and verifies the cases that the main thread sends, one at a time. */
parentPort?.on('message', ({ one, shrinks }: Job) => {
  const answer = (verdict: Verdict): void => parentPort?.postMessage(verdict);
  void verify(one, playCase, shrinks ? undefined : 0).then(answer, (error: unknown) =>
    answer({ one, failure: { one, violations: [String(error)] } }),
  );
});
