import { expect, test } from 'vitest';
import { DataUrlError, parseDataUrl } from './data-url.ts';

// The expected values are results of github.com/vincent-petithory/dataurl, which the original uses.
test.each([
  ['data:,a%20b', 'a b'],
  ['data:;base64,YWI=', 'ab'],
  ['data:text/plain;charset=utf-8;base64,YWI=', 'ab'],
  ['data:text/,x', 'x'],
  ['data:x-own/{a},x', 'x'],
  ['data:application/json;a="b,\\"c;";d=%41,x', 'x'],
])('%s', (url, text) => {
  expect(parseDataUrl(url).data.toString()).toBe(text);
});

test.each([
  'data:',
  'data:x',
  'data:base64,YWI=',
  'data:own/type,x',
  'data:a/b,x',
  'data:;base64,YWI',
  'data:;base64,Y',
  'data:;a,x',
  'data:text/plain;a=%zz,x',
  'data:,%z',
  'data:,ü',
  'data:,<',
  'http:,x',
])('%s is refused', (url) => {
  expect(() => parseDataUrl(url)).toThrow(DataUrlError);
});
