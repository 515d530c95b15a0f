import { describe, expect, test } from 'vitest';
import { Warnings, warningHeader } from './warnings.ts';

const reported = (...texts: string[]): string[] => {
  const out: string[] = [];
  const { warn } = new Warnings(out);
  for (const text of texts) warn(text);
  return out;
};

describe('warnings of an answer', () => {
  test('each warning is sent once; empty ones and those with control characters are omitted', () => {
    expect(reported('a', '', 'b\nc', 'a', 'd')).toEqual(['a', 'd']);
  });

  test('above 4096 characters in total, each is cut to 256 and the rest is omitted', () => {
    const long = (n: number): string => String(n).padEnd(1000, 'x');
    const out = reported(...Array.from({ length: 30 }, (_, n) => long(n)));
    expect(new Set(out.map((one) => one.length))).toEqual(new Set([256]));
    expect(out).toHaveLength(16);
    expect(out[0]).toBe(long(0).slice(0, 256));
  });

  test('a header is quoted, in UTF-8', () => {
    expect(Buffer.from(warningHeader('a "b" \\ ü'), 'latin1').toString()).toBe('299 - "a \\"b\\" \\\\ ü"');
  });
});
