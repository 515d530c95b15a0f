import { expect, test } from 'vitest';
import { Table } from './table.ts';

const row = (key: string, why: string, blockers: readonly string[] = []) => ({ key, why, blockers });

test('an equal row is not sent again', () => {
  const table = new Table<ReturnType<typeof row>>();
  expect(table.put(row('a', 'waits', ['x', 'y']))).toBe(true);
  expect(table.take()).toEqual({ put: [row('a', 'waits', ['x', 'y'])] });
  expect(table.put(row('a', 'waits', ['x', 'y']))).toBe(false);
  expect(table.take()).toBeUndefined();
});

test.each([
  ['a text', row('a', 'joins')],
  ['a list', row('a', 'waits', ['x', 'z'])],
])('a row is sent again when %s changes', (_, changed) => {
  const table = new Table<ReturnType<typeof row>>();
  table.put(row('a', 'waits', ['x', 'y']));
  table.take();
  expect(table.put(changed)).toBe(true);
  expect(table.take()).toEqual({ put: [changed] });
});

test('lists with commas in their texts are not confused', () => {
  const table = new Table<ReturnType<typeof row>>();
  table.put(row('a', '', ['x,y']));
  expect(table.put(row('a', '', ['x', 'y']))).toBe(true);
});

test('a row that disappears is removed once, and a row that returns before the message is only sent', () => {
  const table = new Table<ReturnType<typeof row>>();
  table.put(row('a', ''));
  table.put(row('b', ''));
  table.take();
  table.replace([row('b', '')]);
  table.drop('b');
  table.put(row('b', 'again'));
  expect(table.take()).toEqual({ put: [row('b', 'again')], drop: ['a'] });
  table.drop('unknown');
  expect(table.take()).toBeUndefined();
});
