declare global {
  interface JSON {
    /** Node.js has it; the types of TypeScript do not. */
    rawJSON(text: string): unknown;
  }
}

const { rawJSON } = JSON;

/** Digits enough to be an integer that a double cannot hold, where a number may begin: the few texts that need a closer look. */
const MAYBE_LARGE = /[:[,\s-]\d{16}/;
const INTEGER = /^-?\d+$/;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** Of a 64-bit integer with its sign: more are not worth a bigint, whose making is dear for a million of them. */
const MAX_DIGITS = 20;

/** Whether a text may hold integers beyond 2^53. */
export const mayHoldLarge = (text: string): boolean => MAYBE_LARGE.test(text);

/** An integer as the server holds it: a bigint beyond 2^53, a double beyond 64 bits (as Go reads untyped JSON). */
export function exactInteger(digits: string, rounded: number): number | bigint {
  if (Number.isSafeInteger(rounded) || digits.length > MAX_DIGITS) return rounded;
  const value = BigInt(digits);
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : rounded;
}

function exact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return INTEGER.test(source) ? exactInteger(source, value) : value;
}

/**
 * `JSON.parse` that loses no digit of a 64-bit integer: one beyond 2^53 becomes a bigint.
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown =>
  MAYBE_LARGE.test(text) ? JSON.parse(text, exact) : JSON.parse(text);

const writeExact = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(value.toString()) : value;

/** `JSON.stringify` of what `parseJson` gives. */
export function stringifyJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // Only a bigint makes plain JSON unwritable; asking for it beforehand would cost every other object a walk.
    if (!(error instanceof TypeError && /BigInt/.test(error.message))) throw error;
    return JSON.stringify(value, writeExact, indent);
  }
}
