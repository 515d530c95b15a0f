import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { createRateLimiter } from './rate-limit.ts';

async function passesWithin(qps: number, burst: number, callers: number, times: readonly number[]): Promise<number[]> {
  const clock = new VirtualClock();
  const acquire = createRateLimiter({ qps, burst }, clock);
  let passed = 0;
  for (let i = 0; i < callers; i++) {
    void acquire().then(() => {
      passed++;
    });
  }
  const seen: number[] = [];
  await clock.settle();
  for (const ms of times) {
    await clock.advance(ms);
    seen.push(passed);
  }
  return seen;
}

test.each([
  ['burst at once, then one each 100 ms', 10, 3, 10, [0, 100, 100, 300], [3, 4, 5, 8]],
  ['a burst of 1 spaces everything', 5, 1, 3, [0, 199, 1, 200], [1, 1, 2, 3]],
])('%s', async (_title, qps, burst, callers, times, expected) => {
  expect(await passesWithin(qps, burst, callers, times)).toEqual(expected);
});

test('a pause fills the bucket only up to the burst', async () => {
  const clock = new VirtualClock();
  const acquire = createRateLimiter({ qps: 1, burst: 2 }, clock);
  await acquire();
  await acquire();
  await clock.advance(60_000);
  let passed = 0;
  for (let i = 0; i < 5; i++) void acquire().then(() => passed++);
  await clock.advance(0);
  expect(passed).toBe(2);
});

test('a call whose signal aborts stops waiting', async () => {
  const clock = new VirtualClock();
  const acquire = createRateLimiter({ qps: 1, burst: 1 }, clock);
  await acquire();
  const stop = new AbortController();
  const waiting = acquire(stop.signal);
  stop.abort(new Error('gave up'));
  await expect(waiting).rejects.toThrow('gave up');
  expect(clock.pending).toBe(0);
});
