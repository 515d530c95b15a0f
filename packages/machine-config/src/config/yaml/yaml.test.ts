import { expect, test } from 'vitest';
import { hashedText } from '../name.ts';
import { printYaml } from './yaml.ts';

const K = 'k'.repeat(128);
const L = 'l'.repeat(129);

// The expected texts are the output of the original's YAML writer.
test.each<[title: string, value: unknown, yaml: string]>([
  ['a line separator indents what follows it in single quotes', { a: '\u2028j' }, "a: '\u2028  j'\n"],
  ['a paragraph separator in the middle, and a quote', { a: "x\u2029it's" }, "a: 'x\u2029  it''s'\n"],
  ['a separator at the end of a text in single quotes', { a: 'x\u2028' }, "a: 'x\u2028'\n"],
  ['a blank before a separator takes double quotes', { a: 'x \u2028' }, 'a: "x \\L"\n'],
  ['a blank after a separator takes double quotes', { a: '\u2028 x' }, 'a: "\\L x"\n'],
  ['a key with a letter of Unicode 16 comes first', { a: 2, '\u{1402f}': 1 }, '"\\U0001402F": 1\na: 2\n'],
  ['a key with a digit of Unicode 16 comes first', { x5: 2, 'x\u{10d42}': 1 }, '"x\\U00010D42": 1\nx5: 2\n'],
  ['a separator among lines of a block', { a: 'x\n\u2028y\n' }, 'a: |\n  x\n\u2028  y\n'],
  [
    'a block that ends with a separator has no line feed after it',
    { a: 'x\n\u2028', b: 'c' },
    'a: |+\n  x\n\u2028b: c\n',
  ],
  ['a block that ends with a separator and a line feed', { a: '\u2028\n', b: 'c' }, 'a: |2+\n\u2028\nb: c\n'],
  ['a separator at the end of the document', { a: 'x\n\u2029' }, 'a: |+\n  x\n\u2029'],
  ['a block in a list that ends with a separator', { a: ['x\n\u2028', 'y'] }, 'a:\n- |+\n  x\n\u2028- "y"\n'],
  [
    'columns count from a separator',
    {
      a: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u2028word word word word word word word word word word word word word word word word word word word word',
    },
    "a: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u2028  word word word word word word word word word word word word word word word word\n  word word word word'\n",
  ],
  ['a next-line character is a blank, with the blanks around it', { a: 'x  \u0085  y' }, 'a: x y\n'],
  ['several next-line characters are line feeds, one fewer', { a: 'x\u0085 \u0085\u0085y' }, 'a: |-\n  x\n\n  y\n'],
  ['a tab beside a next-line character stays', { a: 'x\t\u0085y' }, 'a: "x\\t y"\n'],
  ['a next-line character before three dashes at the end', { a: 'x\u0085---' }, 'a: x ---\n'],
  [
    'a byte-order mark at the beginning has all escaped',
    { a: '\ufeffa \u4e2d\ud83d\ude00' },
    'a: "\\uFEFF\\x61\\x20\\u4E2D\\U0001F600"\n',
  ],
  ['a byte-order mark elsewhere', { a: 'a\ufeffb' }, 'a: "a\\uFEFFb"\n'],
  [
    'a key of two lines stands after a question mark',
    { 'a\nb': 'c', d: { 'e\nf': { g: 'h' } } },
    '? |-\n  a\n  b\n: c\nd:\n  ? |-\n    e\n    f\n  : g: h\n',
  ],
  ['a key with a separator', { 'a\u2028b': ['c', ['d']] }, "? 'a\u2028  b'\n: - c\n  - - d\n"],
  ['a key with a carriage return', { 'a\rb': {} }, '? "a\\rb"\n: {}\n'],
  ['a key of 128 bytes fits on its line, one of 129 does not', { [K]: 'a', [L]: 'b' }, `${K}: a\n? ${L}\n: b\n`],
  [
    'bytes of a key are counted, not characters',
    {
      '\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9':
        'a',
    },
    '? \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n: a\n',
  ],
  [
    'a long key is folded',
    {
      'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word':
        'a',
    },
    '? word word word word word word word word word word word word word word word word\n  word word word word word word word word word word word word word word\n: a\n',
  ],
  [
    'keys in lists after question marks',
    [{ 'a\nb': [{ 'c\nd': 1 }] }],
    '- ? |-\n    a\n    b\n  : - ? |-\n        c\n        d\n      : 1\n',
  ],
  [
    'keys of digits beyond 64 bits',
    { '3': '', '18446744073709551616': '', '9233720368547758072': '' },
    '"9233720368547758072": ""\n"18446744073709551616": ""\n"3": ""\n',
  ],
  ['keys of digits of other scripts', { '\u0661': '', '9': '', '2': '' }, '"2": ""\n"9": ""\n\u0661: ""\n'],
  [
    'integers beyond 64 bits are texts when they are marked',
    {
      a: [
        '0x1FFFFFFFFFFFFFFFF',
        '0xFFFFFFFFFFFFFFFF',
        '-0x8000000000000000',
        '-0x8000000000000001',
        '+0xFFFFFFFFFFFFFFFF',
        '0o7777777777777777777777',
        '0b1',
        '018446744073709551616',
      ],
    },
    'a:\n- 0x1FFFFFFFFFFFFFFFF\n- "0xFFFFFFFFFFFFFFFF"\n- "-0x8000000000000000"\n- -0x8000000000000001\n- +0xFFFFFFFFFFFFFFFF\n- 0o7777777777777777777777\n- "0b1"\n- "018446744073709551616"\n',
  ],
  [
    'floats that overflow are texts',
    { a: ['1e400', '1e308', '.5e400', '1_0e3_0'] },
    'a:\n- 1e400\n- "1e308"\n- .5e400\n- "1_0e3_0"\n',
  ],
  [
    'underscores in fractions',
    { a: ['.1_0', '._1', '.1_', '1_.5', '.5e1_0'] },
    'a:\n- ".1_0"\n- ._1\n- .1_\n- "1_.5"\n- ".5e1_0"\n',
  ],
  [
    'dates that exist are quoted, others not',
    {
      a: [
        '2000-02-29',
        '1900-02-29',
        '2001-2-3',
        '2001-13-01',
        '2001-01-01T24:00:00Z',
        '2001-01-01t1:2:3.5+24:60',
        '2001-01-01T01:02:03+24:61',
        '2001-01-01  01:02:03,5',
        '2001-01-01 01:02:03Z',
        '2001-01-01 01:02:60',
      ],
    },
    'a:\n- "2000-02-29"\n- 1900-02-29\n- "2001-2-3"\n- 2001-13-01\n- 2001-01-01T24:00:00Z\n- "2001-01-01t1:2:3.5+24:60"\n- 2001-01-01T01:02:03+24:61\n- "2001-01-01  01:02:03,5"\n- 2001-01-01 01:02:03Z\n- 2001-01-01 01:02:60\n',
  ],
  [
    'numbers as Go prints them',
    { a: [1234567.5, 123456.7, 1e21, 1e20, 1.5e-5, 0.0001, -12, 2 ** 53, 2 ** 64 - 2048] },
    'a:\n- 1.2345675e+06\n- 123456.7\n- 1e+21\n- 1e+20\n- 1.5e-05\n- 0.0001\n- -12\n- 9007199254740992\n- 18446744073709549568\n',
  ],
])('the hashed text has %s', (_title, value, yaml) => {
  expect(printYaml(value)).toBe(yaml);
});

test('the hashed text has a replacement character for half of a surrogate pair', () => {
  expect(printYaml({ a: '\ud800x' })).toBe('a: \ufffdx\n');
  expect(printYaml({ '\udfff': 'a' })).toBe('\ufffd: a\n');
});

test.each([
  ['a control character', { a: '\u007f' }, 'control characters are not allowed'],
  ['a noncharacter', { a: '\uffff' }, 'control characters are not allowed'],
  ['a next-line character before three dashes', { a: 'x\u0085--- y' }, 'found unexpected document indicator'],
  ['a next-line character in a key', { 'a\u0085b': 1 }, "did not find expected ',' or '}'"],
  ['a key of more than 1024 characters of JSON', { ['k'.repeat(1023)]: 1 }, "did not find expected ',' or '}'"],
  ['a key of more than 1024 characters with escapes', { ['<'.repeat(171)]: 1 }, "did not find expected ',' or '}'"],
])('a text with %s has no name, as in the original', (_title, value, reason) => {
  expect(() => printYaml(value)).toThrow(`error converting JSON to YAML: yaml: ${reason}`);
});

test('a key of 1024 characters of JSON still has a name', () => {
  expect(printYaml({ ['k'.repeat(1022)]: 1 })).toBe(`? ${'k'.repeat(1022)}\n: 1\n`);
});

test('a spec whose kernel argument ends with a separator is hashed with the next field on its line', () => {
  expect(hashedText({ kernelArguments: ['a\n\u2028'] })).toContain(
    'kernelArguments:\n- |+\n  a\n\u2028kernelType: ""\n',
  );
});
