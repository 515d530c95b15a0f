import { expect, test } from 'vitest';
import { NOON } from '../testing.ts';
import {
  counted,
  dampingOf,
  FLAPPING_WINDOW_MS,
  type HealthWrite,
  type HealthWrites,
  type Reported,
  repeatAfter,
  reportedAgain,
} from './damping.ts';

const later = (ms: number): Date => new Date(NOON.getTime() + ms);

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
  ['many times, and the clock was set back', 20, 'unknown', -1, undefined],
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

test.each<[title: string, texts: string, afterMs: number, until: Date | undefined]>([
  ['a report that was written four times', 'AAAA', 0, later(1_000)],
  ['a report that was written four times, after the delay', 'AAAA', 1_000, undefined],
  ['a report that was written six times: the delay has doubled twice', 'AAAAAA', 0, later(4_000)],
  ['a report that was written many times: no more than a minute', 'A'.repeat(30), 0, later(60_000)],
  ['a report that was written three times', 'AAA', 0, undefined],
  ['a report of this process between the others', 'AAAABA', 0, undefined],
  ['a report that was written many times before the clock was set back', 'A'.repeat(30), -1, undefined],
  ['a report that was written many times, long ago', 'A'.repeat(30), FLAPPING_WINDOW_MS, undefined],
])('the delay of %s', (_title, texts, afterMs, until) => {
  const reported = [...texts].reduce<Reported | undefined>((seen, text) => reportedAgain(seen, text, NOON), undefined);
  expect(repeatAfter(reported, 'A', later(afterMs))).toEqual(until);
  expect(repeatAfter(reported, 'another', later(afterMs))).toBeUndefined();
});
