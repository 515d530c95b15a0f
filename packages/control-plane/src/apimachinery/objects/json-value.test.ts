import { expect, test } from 'vitest';
import { goJson, goJsonBytes } from './json-value.ts';

test.each([
  null,
  true,
  -1.5e300,
  2n ** 62n,
  '',
  '"\\\n\u0001é€😀',
  '<a>&\u2028',
  [],
  {},
  [1, 'a', null, [[]], {}],
  { b: { 'k"': ['é', 1n] }, a: '', '<': {} },
])('the bytes of %o are counted as Go writes them', (value) => {
  expect(goJsonBytes(value)).toBe(Buffer.byteLength(goJson(value)));
});
