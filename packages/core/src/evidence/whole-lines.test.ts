import { expect, test } from 'vitest';
import { wholeLines } from './whole-lines.ts';

test.each<[what: string, text: string, options: Parameters<typeof wholeLines>[1], kept: string]>([
  ['short and complete', 'a\nb\n', undefined, 'a\nb\n'],
  ['cut by the cloud', 'cret\nb\n', { cut: true }, 'b\n'],
  ['too long', 'first\nsecond\nthird\n', { max: 10 }, 'third\n'],
  ['one very long line', 'x'.repeat(20), { max: 10 }, ''],
  ['one line, cut by the cloud', 'cret', { cut: true }, ''],
])('a console %s is kept from the beginning of a line', (_what, text, options, kept) => {
  expect(wholeLines(text, options)).toBe(kept);
});
