import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DURATION_PATTERN, formatDurationMs, formatDurationNs, parseDurationMs, parseDurationNs } from './duration.ts';

const INT64_MAX = 2n ** 63n - 1n;

describe('parsing', () => {
  test.each<[text: string, milliseconds: number]>([
    ['0', 0],
    ['0s', 0],
    ['1h30m', 5_400_000],
    ['20m0s', 1_200_000],
    ['.5h', 1_800_000],
    ['1.5s', 1_500],
    ['5.s', 5_000],
    ['1m1h', 3_660_000],
    ['+10m', 600_000],
    ['-5m', -300_000],
    ['250us', 0.25],
    ['250µs', 0.25],
    ['250μs', 0.25],
    ['166.037218ms', 166.037218],
    ['2562047h47m16.854775807s', Number(INT64_MAX) / 1e6],
  ])('%s', (text, milliseconds) => {
    expect(parseDurationMs(text)).toBe(milliseconds);
  });

  test.each(['', '10', '1d', 'h', '.s', '-', '+', '1h ', ' 1h', '1h-5m', '2562048h', '1e3s', '1H', '0x1s', 'toString'])(
    '%j is not a duration',
    (text) => {
      expect(parseDurationNs(text)).toBeUndefined();
    },
  );

  test('a very long text is refused without parsing', () => {
    expect(parseDurationNs('1'.repeat(1_000_000))).toBeUndefined();
  });

  test('the pattern matches exactly the valid durations that are not negative', () => {
    const texts = fc
      .stringMatching(/^[-+]?([0-9]{0,2}\.?[0-9]{0,2}(ns|us|ms|s|m|h|d)?){0,3}$/)
      .filter((text) => !/[0-9]{7}/.test(text));
    fc.assert(
      fc.property(texts, (text) => {
        expect(DURATION_PATTERN.test(text)).toBe(parseDurationNs(text) !== undefined && !text.startsWith('-'));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('printing', () => {
  test.each<[nanoseconds: bigint, text: string]>([
    [0n, '0s'],
    [1n, '1ns'],
    [1_100n, '1.1µs'],
    [2_200_000n, '2.2ms'],
    [3_300_000_000n, '3.3s'],
    [1_200_000_000_000n, '20m0s'],
    [5_400_000_000_000n, '1h30m0s'],
    [-300_000_000_000n, '-5m0s'],
    [345_600_000_000_000n, '96h0m0s'],
    [INT64_MAX, '2562047h47m16.854775807s'],
  ])('%s ns', (nanoseconds, text) => {
    expect(formatDurationNs(nanoseconds)).toBe(text);
  });

  test('milliseconds may have a fraction', () => {
    expect(formatDurationMs(1_025.475824)).toBe('1.025475824s');
    expect(formatDurationMs(-0.5)).toBe('-500µs');
  });

  test('every duration is equal after formatting and parsing', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -INT64_MAX - 1n, max: INT64_MAX }), (nanoseconds) => {
        expect(parseDurationNs(formatDurationNs(nanoseconds))).toBe(nanoseconds);
      }),
    );
    fc.assert(
      fc.property(fc.integer(), (milliseconds) => {
        expect(parseDurationMs(formatDurationMs(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
