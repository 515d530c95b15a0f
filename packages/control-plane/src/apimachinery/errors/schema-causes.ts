import { goJson } from '../objects/json-value.ts';
import type { StatusCause } from '../objects/status.ts';

/** Quotes a string as Go's `strconv.Quote` does. */
export function goQuote(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (char === '\n') out += '\\n';
    else if (char === '\t') out += '\\t';
    else if (char === '\r') out += '\\r';
    else if (code === 7) out += '\\a';
    else if (code === 8) out += '\\b';
    else if (code === 12) out += '\\f';
    else if (code === 11) out += '\\v';
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (code === 0xa0 || code === 0xad || (code >= 0x80 && code < 0xa0))
      out += code < 0x100 && code >= 0x80 ? `\\u${code.toString(16).padStart(4, '0')}` : char;
    else out += char;
  }
  return `${out}"`;
}

/** Formats a number like `%v` of Go. A float has an exponent only if the exponent is below -4 or above 5. */
export function goFloat(value: number): string {
  const magnitude = Math.abs(value);
  if (Number.isSafeInteger(value) || (magnitude >= 1e-4 && magnitude < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Formats an invalid value like `field.Error` of Go. */
function goValue(value: unknown): string {
  if (typeof value === 'string') return goQuote(value);
  if (typeof value === 'number') return goFloat(value);
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value === undefined) return 'null';
  return goJson(value);
}

export const required = (field: string, detail = ''): StatusCause => ({
  reason: 'FieldValueRequired',
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  field,
});

/** Returns an "Invalid value" cause without the value, because Go prints no structures in error messages. */
export const invalidWhole = (field: string, detail: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${detail}`,
  field,
});

export const invalid = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${goValue(value)}: ${detail}`,
  field,
});

export const typeInvalid = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: 'FieldValueTypeInvalid',
  message: `Invalid value: ${goValue(value)}: ${detail}`,
  field,
});

export const duplicate = (field: string, value: unknown): StatusCause => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${goValue(value)}`,
  field,
});

export const forbidden = (field: string, detail: string): StatusCause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${detail}`,
  field,
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${goValue(value)}: supported values: ${supported.map(goQuote).join(', ')}`,
  field,
});

export const tooLong = (field: string, max: number): StatusCause => ({
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`,
  field,
});

export const tooMany = (field: string, actual: number, max: number): StatusCause => ({
  reason: 'FieldValueTooMany',
  message: `Too many: ${actual}: must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
  field,
});

/** Go prints a nil path as `<nil>`. */
export const NO_FIELD = '<nil>';
