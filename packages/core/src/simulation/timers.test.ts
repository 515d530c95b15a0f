import { expect, test } from 'vitest';
import { Timers } from './timers.ts';

test('actions run in the order of their times, then of their entry; new ones run later', () => {
  const [timers, done] = [new Timers(), [] as string[]];
  const note = (what: string) => () => done.push(what);
  for (const [moment, what] of [
    [30, 'c'],
    [10, 'a'],
    [20, 'b'],
    [10, 'a too'],
    [Number.POSITIVE_INFINITY, 'never'],
  ] as const)
    timers.at(moment, note(what));
  timers.at(20, () => timers.at(5, note('added')));
  expect(timers.next).toBe(10);
  timers.run(20);
  expect(done).toEqual(['a', 'a too', 'b']);
  expect(timers.next).toBe(5);
  timers.run(30);
  expect([...done.slice(3), timers.next]).toEqual(['added', 'c', Number.POSITIVE_INFINITY]);
});
