import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedLines } from './live.ts';

/** What the page's script makes of it. */
const laid = (before: readonly string[], told: ReturnType<typeof changedLines>): string[] =>
  told.flatMap((part) => (typeof part === 'string' ? [part] : before.slice(part[0], part[0] + part[1])));

test('whatever changes, what arrives is what was drawn', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', '', 'e'));
  fc.assert(
    fc.property(lines, lines, (before, next) => {
      expect(laid(before, changedLines(before, next))).toEqual(next);
    }),
  );
});

test('a row that changes is sent alone, wherever it stands then', () => {
  const before = Array.from({ length: 200 }, (_, index) => `row ${index}`);
  expect(changedLines(before, before.with(7, 'row 7, changed'))).toEqual([[0, 7], 'row 7, changed', [8, 192]]);
  expect(changedLines(before, ['row 9, changed', ...before.toSpliced(9, 1)])).toEqual([
    'row 9, changed',
    [0, 9],
    [10, 190],
  ]);
});
