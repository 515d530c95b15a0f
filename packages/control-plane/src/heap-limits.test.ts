import { expect, test } from 'vitest';
import { heapFlags } from './heap-limits.ts';

test('a small heap grows slowly, a large heap grows as by default, and a huge heap always doubles', () => {
  expect(heapFlags(100 * 2 ** 20)).toEqual(['--semi-space-growth-factor=1', '--heap-growing-percent=50']);
  expect(heapFlags(256 * 2 ** 20)).toEqual(['--semi-space-growth-factor=2', '--heap-growing-percent=0']);
  expect(heapFlags(512 * 2 ** 20)).toEqual(['--semi-space-growth-factor=2', '--heap-growing-percent=100']);
});
