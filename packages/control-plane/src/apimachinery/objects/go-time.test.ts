import { expect, it } from 'vitest';
import { parseGoTime } from './go-time.ts';

it('shifts a time to UTC over the end of a day, a year and a leap day', () => {
  expect(parseGoTime('2024-03-01T00:30:00+01:00', false)).toEqual({ seconds: '2024-02-29T23:30:00', nanos: 0 });
  expect(parseGoTime('2025-12-31T23:30:00.000001-01:00', true)).toEqual({
    seconds: '2026-01-01T00:30:00',
    nanos: 1000,
  });
});

it('counts nine digits of a fraction', () => {
  expect(parseGoTime('2026-01-01T00:00:00.1234567899Z', false).nanos).toBe(123_456_789);
});

it.each([
  ['2026-02-30T00:00:00Z', false, 'parsing time "2026-02-30T00:00:00Z": day out of range'],
  [
    '2026-01-01T00:00:00Z',
    true,
    'parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
  ],
])('refuses %s', (text, micro, message) => {
  expect(() => parseGoTime(text, micro)).toThrow(new RangeError(message));
});
