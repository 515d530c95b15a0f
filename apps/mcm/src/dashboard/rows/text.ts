/**
 * Matches invisible characters, and characters that change the text direction. With invisible characters, one name
 * could look like another name.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The maximum length of a text in a row. The page of an object shows longer texts. */
const LONGEST = 300;

/** Replaces invisible characters with a visible character. Line breaks and tabs stay. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));

/** Replaces invisible characters, and cuts the text after 300 characters. */
export function brieflyVisible(text: string): string {
  const shown = visible(text);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}

/** Converts an RFC 3339 time to milliseconds. The result is undefined if the text is not a time. */
export function millisOf(time: string | undefined | null): number | undefined {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? undefined : at;
}
