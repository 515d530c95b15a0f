declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

const { rawJSON } = JSON;

/** Matches texts that may contain an integer beyond 2^53: 16 digits at a place where a number can be. */
const MAYBE_LARGE = /[:[,\s-]\d{16}/;
const INTEGER = /^-?\d+$/;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/**
 * The maximum number of characters in a 64-bit integer, including its sign. The creation of large bigints is slow, so
 * an integer with more digits becomes a double.
 */
const MAX_DIGITS = 20;

export const mayHoldLarge = (text: string): boolean => MAYBE_LARGE.test(text);

/**
 * Returns a bigint for a 64-bit integer beyond 2^53, and a double for any other number. Go represents JSON numbers
 * without a type as int64 or float64.
 */
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
 * Parses JSON like `JSON.parse`, but keeps all digits of 64-bit integers: an integer beyond 2^53 becomes a bigint.
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown =>
  MAYBE_LARGE.test(text) ? JSON.parse(text, exact) : JSON.parse(text);

const writeExact = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(value.toString()) : value;

/** Converts values of {@link parseJson} to JSON, including bigints. */
export function stringifyJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // `JSON.stringify` throws for a bigint.
    if (!(error instanceof TypeError && /BigInt/.test(error.message))) throw error;
    return JSON.stringify(value, writeExact, indent);
  }
}
