import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { FirstCalls } from './first-calls.ts';

const MINUTE = 60_000;

function calls() {
  const clock = new VirtualClock();
  const first = new FirstCalls({ clock });
  const waits = (uid: string): number | undefined => {
    const until = first.awaited('a', uid);
    return until && until.getTime() - clock.now().getTime();
  };
  return { clock, first, waits };
}

test('one machine asks first, and the others wait for two minutes at most', async () => {
  const { clock, first, waits } = calls();
  first.intends('a', 'm-0');
  expect([waits('m-0'), waits('m-1'), first.awaited('b', 'm-1')]).toEqual([undefined, 2 * MINUTE, undefined]);
  first.intends('a', 'm-1');
  expect([waits('m-0'), waits('m-1')]).toEqual([undefined, 2 * MINUTE]);
  await clock.advance(2 * MINUTE);
  expect(waits('m-1')).toBeUndefined();
});

test('the end of the first call returns the waiting machines, and the end of another call does not', () => {
  const { first } = calls();
  first.began('a', 'm-0');
  first.waits('a', 'm-1', () => undefined);
  expect([...first.ended('a', 'm-9', false).keys()]).toEqual([]);
  expect([...first.ended('a', 'm-0', false).keys()]).toEqual(['m-1']);
});

test('after a success no machine waits for ten minutes', async () => {
  const { clock, first, waits } = calls();
  first.began('a', 'm-0');
  first.ended('a', 'm-0', true);
  first.began('a', 'm-1');
  expect(waits('m-2')).toBeUndefined();
  await clock.advance(10 * MINUTE);
  first.began('a', 'm-3');
  expect(waits('m-2')).toBe(2 * MINUTE);
});

test('after a failed first call, the next machine calls the cloud first', () => {
  const { first, waits } = calls();
  first.began('a', 'm-0');
  first.ended('a', 'm-0', false);
  expect(waits('m-1')).toBeUndefined();
  first.began('a', 'm-1');
  expect(waits('m-0')).toBe(2 * MINUTE);
});
