/** Lists and null are not objects. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses JSON from a source that can contain other text, such as an annotation or the page of a proxy. `tryParseJson`
 * returns undefined for other text.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
