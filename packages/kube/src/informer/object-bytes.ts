const POINTER = 8;
const OBJECT_HEAD = 24;
const ARRAY_HEAD = 32;
const STRING_HEAD = 16;
const NUMBER = 16;
const SMALL_INTEGER = 2 ** 31;

/** Estimates the memory of a JSON value in bytes, usually as an upper limit. */
export function objectBytes(value: unknown): number {
  if (typeof value === 'string') return STRING_HEAD + Math.ceil(value.length / POINTER) * POINTER;
  if (typeof value === 'number')
    return Number.isInteger(value) && value > -SMALL_INTEGER && value < SMALL_INTEGER ? 0 : NUMBER;
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = Array.isArray(value) ? ARRAY_HEAD : OBJECT_HEAD;
  for (const part of Object.values(value)) bytes += POINTER + objectBytes(part);
  return bytes;
}
