/**
 * Parses an integer: an optional sign, and digits. In contrast to `Number` and `parseInt`, `parseInteger` refuses `""`,
 * `" 3"`, `"3.0"` and `"3a"`.
 * @returns undefined if the text is absent, not an integer, or outside of the safe range of a number
 */
export function parseInteger(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = Number(text) + 0; // +0: "-0" is 0
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Formats an integer for an annotation. */
export const formatInteger = (value: number): string => BigInt(value).toString();
