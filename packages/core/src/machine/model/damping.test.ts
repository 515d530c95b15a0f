import { expect, test } from 'vitest';
import { NOON } from '../testing.ts';
import { counted, dampingOf, FLAPPING_WINDOW_MS, type HealthWrite, type HealthWrites } from './damping.ts';

const later = (ms: number): Date => new Date(NOON.getTime() + ms);

/** Returns the counts after `times` writes at noon. */
function after(times: number, kind: HealthWrite): HealthWrites | undefined {
  let writes: HealthWrites | undefined;
  for (let i = 0; i < times; i++) writes = counted(writes, kind, NOON);
  return writes;
}

test.each<[title: string, times: number, kind: HealthWrite, afterMs: number, damping: unknown]>([
  ['the first time', 0, 'unknown', 0, undefined],
  ['the second time at once: a delay', 1, 'unknown', 0, { until: later(1_000) }],
  ['the second time after the delay: a read', 1, 'unknown', 1_000, 'read'],
  ['the fourth time: the delay has doubled twice', 3, 'unknown', 2_000, { until: later(4_000) }],
  ['many times: no more than a minute', 20, 'unknown', 0, { until: later(60_000) }],
  ['long after the last time: like the first time', 20, 'unknown', FLAPPING_WINDOW_MS, undefined],
  ['conditions of a machine that joins', 9, 'mirrored', 0, undefined],
  ['conditions that change all the time', 10, 'mirrored', 0, { until: later(1_000) }],
  ['copied conditions do not count as changes of health', 9, 'mirrored', 0, undefined],
])('%s', (_title, times, kind, afterMs, damping) => {
  expect(dampingOf(after(times, kind), kind, later(afterMs))).toEqual(damping);
});

test('a live read allows one write', () => {
  const writes = after(1, 'unknown');
  if (!writes) throw new Error('nothing was counted');
  const read = { ...writes, readAt: later(2_000) };
  expect(dampingOf(read, 'unknown', later(3_000))).toBeUndefined();
  expect(dampingOf(read, 'unknown', later(70_000))).toBe('read');
  expect(dampingOf(counted(read, 'unknown', later(3_000)), 'unknown', later(10_000))).toBe('read');
});
