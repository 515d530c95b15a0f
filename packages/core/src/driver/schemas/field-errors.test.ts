import { expect, test } from 'vitest';
import { FieldErrors } from './field-errors.ts';

test('texts in errors are quoted as in Go', () => {
  const errors = new FieldErrors();
  errors.invalid('a', 'é<>&"\\\u2028\u0000\u00a0\n\u007f\u{1f600}\u{e0001}', 'no');
  errors.unsupported('b', 'x\u0007', ['y']);
  expect(errors.all).toEqual([
    String.raw`a: Invalid value: "é<>&\"\\\u2028\x00\u00a0\n\x7f😀\U000e0001": no`,
    String.raw`b: Unsupported value: "x\a": supported values: "y"`,
  ]);
});

test('constants and objects in errors are JSON as in Go', () => {
  const errors = new FieldErrors();
  errors.invalidConstant('a', '<\u2028', 'no');
  errors.invalid('b', { name: '&' }, 'no');
  errors.unsupportedPointer('c', '<\u0000\u007f', ['y']);
  expect(errors.all).toEqual([
    String.raw`a: Invalid value: "\u003c\u2028": no`,
    String.raw`b: Invalid value: {"name":"\u0026"}: no`,
    `c: Unsupported value: "\\u003c\\u0000\u007f": supported values: "y"`,
  ]);
});
