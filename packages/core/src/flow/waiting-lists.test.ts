import { expect, test } from 'vitest';
import { WaitingLists } from './waiting-lists.ts';

test('every key gets its turn', () => {
  const lists = new WaitingLists();
  for (const key of ['a', 'b', 'c']) lists.set(key, ['budget']);
  expect(lists.takeTurns('budget', 2)).toEqual(['a', 'b']);
  expect(lists.takeTurns('budget', 2)).toEqual(['c', 'a']);
  expect(lists.takeTurns('budget', 0)).toEqual([]);
});

test('a key that waits for another cause, or none, leaves the list', () => {
  const lists = new WaitingLists();
  lists.set('a', ['x', 'y']);
  lists.set('b', ['x']);
  lists.set('a', ['y']);
  expect(lists.waitingFor('x')).toEqual(['b']);
  lists.set('a', []);
  expect(lists.waitingFor('y')).toEqual([]);
});
