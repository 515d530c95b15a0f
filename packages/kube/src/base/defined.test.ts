import { expect, test } from 'vitest';
import { defined, withoutUndefined } from './defined.ts';

interface Wire {
  readonly name: string;
  readonly label?: string;
  readonly count?: number | null;
}

test('undefined members are left out, and null, false, 0 and empty texts stay', () => {
  const object = withoutUndefined({ a: undefined, b: null, c: false, d: 0, e: '', f: [] });
  expect(Object.entries(object)).toEqual([
    ['b', null],
    ['c', false],
    ['d', 0],
    ['e', ''],
    ['f', []],
  ]);
});

test('an object for the API server has no member for an absent value', () => {
  const label: string | undefined = undefined;
  const object: Wire = defined<Wire>({ name: 'one', label, count: null });
  expect(Object.keys(object)).toEqual(['name', 'count']);
});

test('an absent value does not replace a default', () => {
  expect({ ...{ name: 'default', label: 'x' }, ...withoutUndefined({ name: undefined, label: 'y' }) }).toEqual({
    name: 'default',
    label: 'y',
  });
});
