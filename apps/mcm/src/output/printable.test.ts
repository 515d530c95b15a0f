import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { eachFormatted, formatted } from './format.ts';
import { printable } from './printable.ts';

test.each<[what: string, text: string, shown: string]>([
  ['a colour', '\u001b[31mred\u001b[0m', '^[[31mred^[[0m'],
  ['the title of the terminal', '\u001b]0;owned\u0007', '^[]0;owned\\u{7}'],
  ['a control character of C1', 'a\u009b31m', 'a\\u{9b}31m'],
  ['a mark that changes the reading direction', 'gpj.\u202eexe', 'gpj.\\u{202e}exe'],
  ['a second line', 'ok\nmachine/forged  Running', 'ok\\nmachine/forged  Running'],
  ['a carriage return and a backspace', 'bad\r\bgood', 'bad\\r\\u{8}good'],
  ['a line separator of Unicode', 'a\u2028b', 'a\\u{2028}b'],
  ['an invisible character', 'pay\u200bpal', 'pay\\u{200b}pal'],
  ['an emoji, an accent and a tab', 'é 😀\t|', 'é 😀\t|'],
])('a text with %s is printed in escaped form', (_what, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('every text format prints one safe line', () => {
  const evil = 'a\u001b[2Jb\nc';
  for (const format of ['text', 'wide'] as const) {
    expect(formatted(format, {}, () => [evil])).toEqual(['a^[[2Jb\\nc']);
    expect(eachFormatted(format, {}, evil)).toEqual(['a^[[2Jb\\nc']);
  }
});

test('JSON and YAML escape unsafe characters, and parse to the same text', () => {
  const raw = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 }), (texts) => {
      const evil = [...texts, 'gpj.\u202eexe', 'a\u009b31m', '\u{e0041}x', 'x: \u001b[0m', ' lead\n\ttail\u2028'];
      const model = { evil, [`key\u202e${texts[0] ?? ''}`]: 'a\nb' };
      const json = [formatted('json', model, () => []), eachFormatted('json', model, '')].map((one) => one.join('\n'));
      const yaml = [formatted('yaml', model, () => []), eachFormatted('yaml', model, '')].map((one) => one.join('\n'));
      for (const text of [...json, ...yaml]) expect(text).not.toMatch(raw);
      for (const text of json) expect(JSON.parse(text)).toEqual(model);
      for (const text of yaml) expect(parse(text)).toEqual(model);
    }),
    { numRuns: 20 },
  );
});
