import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatIntOrPercent, type IntOrPercent, parseIntOrPercent, resolveIntOrPercent } from './int-or-percent.ts';

test.each<[value: IntOrPercent, total: number, up: number, down: number]>([
  [0, 10, 0, 0],
  [3, 10, 3, 3],
  ['0%', 10, 0, 0],
  ['25%', 10, 3, 2],
  ['10%', 100, 10, 10],
  ['1%', 1, 1, 0],
  ['100%', 7, 7, 7],
  ['150%', 3, 5, 4],
  ['50%', 0, 0, 0],
])('%s of %i is %i up, %i down', (value, total, up, down) => {
  expect(resolveIntOrPercent(value, total, 'up')).toBe(up);
  expect(resolveIntOrPercent(value, total, 'down')).toBe(down);
});

test.each<IntOrPercent>(['10', '', '%', '1.5%', '25 %', 'a%', 1.5, Number.NaN])(
  '%j is neither a count nor a percentage',
  (value) => {
    expect(parseIntOrPercent(value)).toBeUndefined();
    expect(() => resolveIntOrPercent(value, 1, 'up')).toThrow('is neither an integer nor a percentage');
  },
);

test('a value is equal after formatting and parsing', () => {
  const values = fc.oneof(
    fc.integer(),
    fc.integer({ min: -1_000_000, max: 1_000_000 }).map((percent) => `${percent}%`),
  );
  fc.assert(
    fc.property(values, (value) => {
      const parsed = parseIntOrPercent(value);
      expect(parsed && formatIntOrPercent(parsed)).toBe(value);
    }),
  );
});

test('rounding differs by at most one, and not at all for counts', () => {
  fc.assert(
    fc.property(fc.nat({ max: 300 }), fc.nat({ max: 10_000 }), (percent, total) => {
      const [up, down] = [
        resolveIntOrPercent(`${percent}%`, total, 'up'),
        resolveIntOrPercent(`${percent}%`, total, 'down'),
      ];
      expect(up - down).toBe((percent * total) % 100 === 0 ? 0 : 1);
    }),
  );
});
