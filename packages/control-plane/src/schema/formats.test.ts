import { expect, it } from 'vitest';
import { hasFormat } from './formats.ts';

it.each([
  ['hostname', ['node', 'a.bc', 'YQ==', 'übung'], ['', 'a.b', '10.0.0.1', '2020-01-01', 'x_y', 'a'.repeat(64)]],
  ['duration', ['1h', '1h30m', '-3s', '5 minutes', '2 Weeks', 'in 3d or so', '1s2'], ['', '1', 'x', '5 fortnights']],
  ['hex-color', ['#fff'], ['blue']],
  ['byte', ['YQ==', 'YWJj'], ['', 'YQ', '*']],
  [
    'mac',
    ['00:11:22:33:44:55', '0011.2233.4455', '001122334455', '4111111111111111'],
    ['00:11', '00112233445', 'zz1122334455'],
  ],
])('the format %s', (format, good, bad) => {
  expect(good.filter((text) => !hasFormat(format, text))).toEqual([]);
  expect(bad.filter((text) => hasFormat(format, text))).toEqual([]);
});
