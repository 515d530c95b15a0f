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
  ])('%s is unchanged after a round trip', (number) => {
    const text = `{"a":[${number}],"b":{"c":${number}}}`;
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it('a number beyond 64 bits is a double, as in Go', () => {
    expect(parseJson('[9223372036854775808]')).toEqual([2 ** 63]);
  });

  it('texts and fractions with many digits are unchanged', () => {
    const text = '{"a":"12345678901234567890","b": 0.1234567890123456,"c":" 12345678901234567890"}';
    expect(parseJson(text)).toEqual({ a: '12345678901234567890', b: 0.1234567890123456, c: ' 12345678901234567890' });
  });

  it('keeps keys named like prototypes as data', () => {
    const value = parseJson('{"__proto__":9007199254740993}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(stringifyJson(value)).toBe('{"__proto__":9007199254740993}');
  });

  it('refuses invalid JSON like JSON.parse', () => {
    expect(() => parseJson('[9007199254740993')).toThrow(SyntaxError);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(() => stringifyJson(circle)).toThrow(/circular/i);
  });
});
