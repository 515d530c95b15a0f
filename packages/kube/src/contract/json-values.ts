/** Lists and null are not objects. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses JSON from a source that can contain other text, such as an annotation or the page of a proxy. For a text that
 * is not JSON, the result is undefined.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
