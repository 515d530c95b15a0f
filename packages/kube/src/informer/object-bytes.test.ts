import { expect, test } from 'vitest';
import { Cache } from './cache.ts';
import { objectBytes } from './object-bytes.ts';

test('the estimate counts texts, lists and nested objects', () => {
  expect(objectBytes('')).toBe(16);
  expect(objectBytes('123456789')).toBe(32);
  expect([objectBytes(7), objectBytes(0.5), objectBytes(2 ** 40), objectBytes(true), objectBytes(null)]).toEqual([
    0, 16, 16, 0, 0,
  ]);
  expect(objectBytes({ a: 'x' })).toBe(24 + 8 + 24);
  expect(objectBytes([{}, {}])).toBe(32 + 2 * (8 + 24));
});

test('a cache counts the bytes of its objects at each change, and counts 0 after all objects are removed', () => {
  let bytes = 0;
  const cache = new Cache<{ readonly data: string }>({}, undefined, (change) => {
    bytes += change;
  });
  cache.set('a', { data: 'x'.repeat(1_000) });
  cache.set('b', { data: '' });
  const both = bytes;
  expect(both).toBeGreaterThan(1_000);
  cache.set('a', { data: '' });
  expect(both - bytes).toBe(1_000);
  cache.set('a', { data: '' });
  expect(both - bytes).toBe(1_000);
  cache.delete('a');
  cache.delete('a');
  cache.delete('b');
  expect(bytes).toBe(0);
});
