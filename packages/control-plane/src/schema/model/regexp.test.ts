import { expect, test } from 'vitest';
import { type GoRegExp, RegExpError, readRegExp } from './regexp.ts';

function compiled(expression: string): GoRegExp {
  const read = readRegExp(expression);
  if (read instanceof RegExpError) throw read;
  return read;
}

// A backtracking engine needs 2^n or n² steps for each of these expressions, and n is 200,000.
test.each(['^(a|aa)+$', '^(a+)+$', '^(a*)*$', '.*.*.*=', '(a+a+)+y', '^(.*a){20}$'])(
  '%s takes linear time',
  (expression) => {
    expect(compiled(expression).test(`${'a'.repeat(200_000)}b`)).toBe(false);
  },
);

// The expected matches were recorded from Go's package `regexp`.
test.each([
  ['(', 'missing closing ): `(`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['*', 'missing argument to repetition operator: `*`'],
  ['[b-a]', 'invalid character class range: `b-a`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?<=a)b', 'invalid named capture: `(?<=a)b`'],
  ['(a)\\1', 'invalid escape sequence: `\\1`'],
  ['\\u00b5', 'invalid escape sequence: `\\u`'],
  ['a\\', 'trailing backslash at end of expression: ``'],
])('%s is refused with the text of Go', (expression, words) => {
  const read = readRegExp(expression);
  expect(read).toBeInstanceOf(RegExpError);
  expect((read as RegExpError).message).toBe(`error parsing regexp: ${words}`);
});

test('an expression that nests too deeply is refused as a whole', () => {
  const deep = `${'('.repeat(1001)}${')'.repeat(1001)}`;
  expect(readRegExp(deep)).toMatchObject({ message: `error parsing regexp: expression nests too deeply: \`${deep}\`` });
});

test.each([
  ['(?i)k', 'K', true],
  ['^.$', '😀', true],
  ['a$', 'a\n', false],
  ['\\Aa\\z', 'a', true],
  ['\\Qa.b\\E', 'axb', false],
  ['\\p{Greek}', 'α', true],
  ['[[:alpha:]]\\d', 'x1', true],
  ['\\x{1F600}', '😀', true],
  ['(?s).', '\n', true],
  ['.', '\n', false],
])('%s matches %j as in Go: %s', (expression, text, matches) => {
  expect(compiled(expression).test(text)).toBe(matches);
});

test('finds the same matches as Go, with no empty match directly after another', () => {
  expect(compiled('a*').find('aab', -1)).toEqual(['aa', '']);
  expect(compiled('[a-c]').find('abc', 2)).toEqual(['a', 'b']);
  expect(compiled('x').find('abc', -1)).toEqual([]);
});
