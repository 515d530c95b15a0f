/**
 * Matches invisible characters, and characters that change the direction of a text. With such characters, a name could
 * look like another name.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** A text in a row has at most this number of characters. The page of the object shows the whole text. */
const LONGEST = 300;

/** Replaces invisible characters with a visible character. Line breaks and tabs stay in the text. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));

/** Replaces invisible characters, and shortens the text to 300 characters. */
export function brieflyVisible(text: string): string {
  const shown = visible(text);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}

/** Converts an RFC 3339 time to milliseconds. If the text is not a time, the result is undefined. */
export function millisOf(time: string | undefined | null): number | undefined {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? undefined : at;
}
