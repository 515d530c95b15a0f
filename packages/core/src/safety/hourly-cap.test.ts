import { expect, test } from 'vitest';
import { HourlyCap } from './hourly-cap.ts';

test('so many within an hour, and a second try of one that passed is free', () => {
  const cap = new HourlyCap(2);
  const at = (minutes: number): Date => new Date(minutes * 60_000);
  expect(['a', 'b', 'c', 'a'].map((id) => cap.admits(id, at(0)))).toEqual([true, true, false, true]);
  expect(cap.admits('c', at(59))).toBe(false);
  expect(cap.admits('c', at(60))).toBe(true);
});
