import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { LearnedRate } from '../cloud/learned-rate.ts';
import { MachineError } from './errors.ts';
import { retryAfterOf } from './retry-after.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const headers = (all: Readonly<Record<string, string>>) => ({ get: (name: string) => all[name] ?? null });

test.each<[headers: Readonly<Record<string, string>>, ms: number | undefined]>([
  [{}, undefined],
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, undefined],
  [{ 'retry-after-ms': '2500', 'retry-after': '7' }, 2_500],
  [{ 'x-ms-retry-after-ms': '2600' }, 2_600],
  [{ 'x-amz-retry-after': '4000' }, 4_000],
  // A caller must not retry immediately in a loop, so a wait time of 0 is ignored.
  [{ 'retry-after': '0' }, undefined],
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '99999999999999' }, 3_600_000],
  [{ 'retry-after': 'Infinity' }, 3_600_000],
])('the wait that an answer requests: %o is %s ms', (reported, ms) => {
  expect(retryAfterOf(headers(reported), NOW)).toBe(ms);
});

test.each([
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, 3_600_000],
  [-1, 0],
  [1e20, 3_600_000],
  [5_000, 5_000],
])('a driver may request a delay of %s ms, which is limited', (reported, ms) => {
  const { retryAfterMs } = new MachineError('Unavailable', 'later', { retryAfterMs: reported });
  expect(retryAfterMs).toBe(ms);
  expect(() => new Date(NOW.getTime() + (retryAfterMs ?? 0)).toISOString()).not.toThrow();
});

test('a wait is at most one hour, with one timer', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  rate.throttled(Number.MAX_VALUE);
  let went = false;
  const call = rate.take(new AbortController().signal).then(() => {
    went = true;
  });
  await clock.advance(3_599_000);
  expect(went).toBe(false);
  await clock.advance(2_000);
  await call;
  expect(went).toBe(true);
});
