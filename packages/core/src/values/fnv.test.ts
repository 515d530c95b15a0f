import { expect, test } from 'vitest';
import { fnv1a } from './fnv.ts';

test('FNV-1a gives the published values', () => {
  expect(fnv1a('')).toBe(0x811c9dc5);
  expect(fnv1a('a')).toBe(0xe40c292c);
  expect(fnv1a('foobar')).toBe(0xbf9cf968);
});
