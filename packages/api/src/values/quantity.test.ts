import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatQuantity, parseQuantity, QUANTITY_PATTERN, type Quantity, quantitiesEqual } from './quantity.ts';

const canonical = (value: Quantity): string | undefined => {
  const parsed = parseQuantity(value);
  return parsed && formatQuantity(parsed);
};

describe('canonical form', () => {
  test.each<[value: Quantity, text: string]>([
    [4, '4'],
    ['0', '0'],
    ['0Gi', '0'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['0.5Ki', '512'],
    ['1500m', '1500m'],
    ['1000m', '1'],
    ['.5', '500m'],
    ['5.', '5'],
    ['+3E', '3E'],
    ['1e3', '1e3'],
    ['12E2', '1200'],
    ['100n', '100n'],
    ['0.0000000001', '1n'],
    ['-2k', '-2k'],
    ['9223372036854775807', '9223372036854775807'],
    ['1e30', '9223372036854775807'],
  ])('%s', (value, text) => {
    expect(canonical(value)).toBe(text);
  });

  test.each(['', 'Gi', '1 Gi', '1GiB', '1ki', '1K', '1e', '1e1.5', '1e1000', '--1', 'NaN'])(
    '%j is not a quantity',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
    },
  );

  test('a number that is not an integer is parsed as a text', () => {
    expect(canonical(1.5)).toBe('1500m');
    expect(parseQuantity(Number.NaN)).toBeUndefined();
  });
});

const quantities = fc
  .record({
    sign: fc.constantFrom('', '+', '-'),
    whole: fc.nat({ max: 999_999 }),
    fraction: fc.option(fc.nat({ max: 999 })),
    suffix: fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e2', 'E-3'),
  })
  .map(({ sign, whole, fraction, suffix }) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${suffix}`);

test('formatting keeps the amount, also when repeated', () => {
  fc.assert(
    fc.property(quantities, (text) => {
      expect(QUANTITY_PATTERN.test(text)).toBe(true);
      const printed = canonical(text) ?? 'none';
      expect(canonical(printed)).toBe(printed);
      // Kubernetes and mcm print binary amounts as whole numbers, so mcm rounds fractions up.
      if (!text.endsWith('i')) expect(quantitiesEqual(text, printed)).toBe(true);
    }),
  );
});

test('two texts of the same amount are equal', () => {
  expect(quantitiesEqual('1Gi', '1024Mi')).toBe(true);
  expect(quantitiesEqual('1', 1)).toBe(true);
  expect(quantitiesEqual('1G', '1Gi')).toBe(false);
  expect(quantitiesEqual('x', 'x')).toBe(true);
  expect(quantitiesEqual('x', '1')).toBe(false);
});
