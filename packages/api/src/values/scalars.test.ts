import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatInteger, parseInteger } from './integer.ts';
import { formatTime, parseTime } from './time.ts';

describe('integers', () => {
  test.each<[text: string | undefined, value: number | undefined]>([
    ['3', 3],
    ['+3', 3],
    ['-3', -3],
    ['007', 7],
    ['-0', 0],
    [undefined, undefined],
    ['', undefined],
    [' 3', undefined],
    ['3a', undefined],
    ['3.0', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['9007199254740993', undefined],
  ])('%j', (text, value) => {
    expect(parseInteger(text)).toBe(value);
  });

  test('integers are equal after formatting and parsing', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        expect(parseInteger(formatInteger(value))).toBe(value + 0);
      }),
    );
  });
});

describe('times', () => {
  test.each<[text: string, iso: string]>([
    ['2026-11-21T08:55:21Z', '2026-11-21T08:55:21.000Z'],
    ['2026-11-21T08:55:21.5Z', '2026-11-21T08:55:21.500Z'],
    ['2026-11-21T08:55:21.123456789+02:00', '2026-11-21T06:55:21.123Z'],
    ['2024-02-29T00:00:00-00:30', '2024-02-29T00:30:00.000Z'],
  ])('%s', (text, iso) => {
    expect(parseTime(text)?.toISOString()).toBe(iso);
  });

  test.each([
    undefined,
    '',
    '2026-11-21',
    '2026-11-21 08:55:21Z',
    '2026-11-21T08:55:21',
    '2026-11-21T08:55Z',
    '2026-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+25:00',
    '1764000000',
  ])('%j is not a time', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  test('times are equal after formatting and parsing, in whole seconds', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, (date) => {
        expect(parseTime(formatTime(date))?.getTime()).toBe(Math.floor(date.getTime() / 1000) * 1000);
      }),
    );
  });
});
