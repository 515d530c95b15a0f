import { parentPort } from 'node:worker_threads';
import type { Case } from '../suites.ts';
import { judge, type Verdict } from './work.ts';

/** Judges the cases that the main thread sends, one at a time. */
parentPort?.on('message', (one: Case) => {
  const answer = (verdict: Verdict): void => parentPort?.postMessage(verdict);
  void judge(one).then(answer, (error: unknown) => answer({ one, failure: { one, violations: [String(error)] } }));
});
