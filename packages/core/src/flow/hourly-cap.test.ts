import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { HourlyCap } from './hourly-cap.ts';

const HOUR = 3_600_000;

test('the number within an hour is limited, and a repetition does not count', async () => {
  const clock = new VirtualClock();
  const cap = new HourlyCap(2, clock);
  await clock.advance(HOUR);
  expect(['a', 'b', 'c', 'a'].map((id) => cap.admits(id))).toEqual([true, true, false, true]);
  await clock.advance(59 * 60_000);
  expect(cap.admits('c')).toBe(false);
  await clock.advance(60_000);
  expect(cap.admits('c')).toBe(true);
});

test.each([5, -5])('a system clock that is set by %i hours changes nothing', async (hours) => {
  const clock = new VirtualClock();
  const cap = new HourlyCap(1, clock);
  await clock.advance(HOUR);
  expect(cap.admits('a')).toBe(true);
  clock.jump(hours * HOUR);
  expect(cap.admits('b')).toBe(false);
  await clock.advance(HOUR);
  expect(cap.admits('b')).toBe(true);
});

test.each([2, 6, 30, 61])(
  'processes that each run for %i minutes admit at most the hourly limit and one more each',
  async (minutes) => {
    const clock = new VirtualClock();
    const most = 30;
    let passed = 0;
    let lives = 0;
    while (clock.monotonic() < 6 * HOUR) {
      const cap = new HourlyCap(most, clock);
      lives++;
      for (let minute = 0; minute < minutes; minute++) {
        for (let i = 0; i < 50; i++) if (cap.admits(`${lives}/${minute}/${i}`)) passed++;
        await clock.advance(60_000);
      }
    }
    expect(passed).toBeLessThanOrEqual((most * clock.monotonic()) / HOUR + lives);
  },
);
