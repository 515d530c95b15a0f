import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalQuantity, parseQuantity, quantityMilli, quantityValue } from './quantity.ts';

describe('quantities', () => {
  test.each([
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1048576Ki', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['100k', '100k'],
    ['0Mi', '0'],
    ['512Ki', '512Ki'],
    ['0.1n', '1n'],
    ['-1Gi', '-1Gi'],
    ['+2', '2'],
  ])('%s is written as %s', (given, written) => {
    expect(canonicalQuantity(given)).toBe(written);
  });

  test.each(['', 'abc', '1Gb', '1 Gi', '--1', '1.2.3', '1e', 'Ki'])('%j is not a quantity', (given) => {
    expect(canonicalQuantity(given)).toBeUndefined();
  });

  test.each([
    ['1500m', 2n, 1500n],
    ['-1500m', -2n, -1500n],
    ['0.0001', 1n, 1n],
    ['1e19', 0n, 0n],
    ['10E', 0n, 0n],
    ['9223372036854775807', 2n ** 63n - 1n, -1000n],
    ['9223372036854775808', -(2n ** 63n), 0n],
    ['12345678901234567890', -6101065172474983726n, BigInt.asIntN(64, 12345678901234567890000n)],
    ['16Ei', 2n ** 63n - 1n, -1000n],
    ['1Gi', 2n ** 30n, 1000n * 2n ** 30n],
  ])('%s has the value %d and %d thousandths, as in Go', (given, value, milli) => {
    expect(quantityValue(given)).toBe(value);
    expect(quantityMilli(given)).toBe(milli);
  });

  test('the canonical form has the same value, and is its own canonical form', () => {
    const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi');
    fc.assert(
      fc.property(fc.integer({ min: -100_000, max: 100_000 }), suffix, (mantissa, unit) => {
        const given = `${mantissa}${unit}`;
        const written = canonicalQuantity(given) ?? '';
        expect(parseQuantity(written)?.nanos).toBe(parseQuantity(given)?.nanos);
        expect(canonicalQuantity(written)).toBe(written);
      }),
    );
  });
});
