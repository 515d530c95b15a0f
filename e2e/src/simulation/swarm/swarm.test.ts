import { expect, test } from 'vitest';
import type { Case } from '../suites/suites.ts';
import type { Failure } from './replay.ts';
import { Swarm } from './swarm.ts';

const one: Case = { suite: 'rolls', seed: 1 };

/** Runs one case on a thread that executes `code`, and returns the failures of the case. */
async function failures(code: string): Promise<readonly Failure[]> {
  const found: Failure[] = [];
  const swarm = new Swarm({
    workers: 1,
    cases: [one],
    forMs: undefined,
    caseMs: 60_000,
    endsAtFailure: false,
    idleMs: 200,
    worker: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    onFailure: (failure) => void found.push(failure),
    onProgress: () => undefined,
  });
  await swarm.run();
  return found;
}

const worker = (onMessage: string): string =>
  `import { parentPort } from 'node:worker_threads'; parentPort.on('message', ({ one }) => ${onMessage});`;

test('a history that waits for a missing event is a failure, and one that ends is not', async () => {
  const violations = ['the simulation waits for a missing event'];
  expect(await failures(worker('new Promise(() => {})'))).toEqual([{ one, violations }]);
  expect(await failures(worker('parentPort.postMessage({ one })'))).toEqual([]);
});

test('a history whose thread ends is a failure', async () => {
  const violations = ['the thread of the simulation ended with 3'];
  expect(await failures(worker('process.exit(3)'))).toEqual([{ one, violations }]);
});
