import { describe, expect, it } from 'vitest';
import { parseJson, stringifyJson } from './json.ts';

describe('JSON with integers of 64 bits', () => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
    '9007199254740991',
    '0',
    '-1.5',
  ])('%s comes back as it was', (number) => {
    const text = `{"a":[${number}],"b":{"c":${number}}}`;
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('what is beyond 64 bits is a double, as Go reads it', () => {
    expect(parseJson('[9223372036854775808]')).toEqual([2 ** 63]);
  });

  it('texts and fractions with many digits are left alone', () => {
    const text = '{"a":"12345678901234567890","b": 0.1234567890123456,"c":" 12345678901234567890"}';
    expect(parseJson(text)).toEqual({ a: '12345678901234567890', b: 0.1234567890123456, c: ' 12345678901234567890' });
  });

  it('keeps keys named like prototypes as data', () => {
    const value = parseJson('{"__proto__":9007199254740993}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(stringifyJson(value)).toBe('{"__proto__":9007199254740993}');
  });

  it('refuses what is no JSON as JSON.parse does', () => {
    expect(() => parseJson('[9007199254740993')).toThrow(SyntaxError);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(() => stringifyJson(circle)).toThrow(/circular/i);
  });
});
