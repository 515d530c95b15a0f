import { expect, test } from 'vitest';
import { Reservations } from './reservations.ts';

test('a reservation counts for the other machines of its group only [S-PM1]', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  expect([all.others('k1', 'b'), all.others('k2', 'b'), all.others('k1', 'a')]).toEqual([1, 0, 0]);
  all.reserve('k1', 'a');
  expect(all.others('k1', 'b')).toBe(1);
});

test('a released reservation is removed together with its group [S-PM4]', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k1', 'a');
  expect([all.others('k1', 'b'), all.size]).toEqual([0, 0]);
});

test('a release in an unknown group has no effect [S-PM5]', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k2', 'a');
  expect([all.others('k1', 'b'), all.size]).toEqual([1, 1]);
});

test('a release without a reservation has no effect [S-PM8]', () => {
  const all = new Reservations();
  all.reserve('k1', 'a');
  all.release('k1', 'b');
  expect([all.others('k1', 'b'), all.size]).toEqual([1, 1]);
});

test('a group exists as long as it has a reservation, without a janitor [S-PM9, O-20]', () => {
  const all = new Reservations();
  for (const uid of ['a', 'b']) all.reserve('k1', uid);
  all.release('k1', 'a');
  expect([all.others('k1', 'a'), all.size]).toEqual([1, 1]);
  all.release('k1', 'b');
  expect(all.size).toBe(0);
});
