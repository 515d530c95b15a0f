import { expect, test } from 'vitest';
import { trimSpace } from './trim-space.ts';

test('white space of Go is removed at both ends of a text only', () => {
  const space = '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000';
  expect(trimSpace(`${space}a${space}b${space}`)).toBe(`a${space}b`);
  expect(trimSpace(space)).toBe('');
});

test.each(['\ufeff', '\u200b', '\u0000', '\u180e', '\u001c'])('other characters stay: %j', (character) => {
  expect(trimSpace(character)).toBe(character);
});
