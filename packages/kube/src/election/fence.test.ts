import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { Age } from './fence.ts';

test('the age is the larger one of both clocks, because one may stop while the machine is suspended', async () => {
  const clock = new VirtualClock();
  await clock.advance(5_000);
  const age = new Age(clock);
  expect(age.ms).toBe(0);
  await clock.advance(1_000);
  expect(age.ms).toBe(1_000);
  clock.jump(60_000);
  expect(age.ms).toBe(61_000);
  clock.jump(-90_000);
  expect(age.ms).toBe(1_000);
});
