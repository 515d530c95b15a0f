import { expect, test } from 'vitest';
import { Reservations } from './reservations.ts';

/** The rows of the original's permits, for what stands here in their place. */

test('S-PM1 reserved: it counts for the others of the group, for no other group, and not for the machine itself', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  expect([all.others('k1', 'b'), all.others('k2', 'b'), all.others('k1', 'a')]).toEqual([1, 0, 0]);
  all.reserve('k1', 'a');
  expect(all.others('k1', 'b')).toBe(1);
});

test('S-PM4 reserved and released: gone, and the group with it', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k1', 'a');
  expect([all.others('k1', 'b'), all.size]).toEqual([0, 0]);
});

test('S-PM5 a release in a group that is not known has no effect', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k2', 'a');
  expect([all.others('k1', 'b'), all.size]).toEqual([1, 1]);
});

test('S-PM8 a release of what was never reserved has no effect', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k1', 'b');
  expect([all.others('k1', 'b'), all.size]).toEqual([1, 1]);
});

test('S-PM9 a group is forgotten with its last reservation, and kept with one, without a janitor (O-20)', () => {
  const all = new Reservations();
  for (const uid of ['a', 'b']) all.reserve('k1', uid);
  all.release('k1', 'a');
  expect([all.others('k1', 'a'), all.size]).toEqual([1, 1]);
  all.release('k1', 'b');
  expect(all.size).toBe(0);
});
