/** Matches invisible characters, and characters that change the direction of a text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const LONGEST = 300;

/** Replaces invisible characters with a visible character. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));

/** Replaces invisible characters, and shortens the text to 300 characters. */
export function brieflyVisible(text: string): string {
  const shown = visible(text);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
}

/** Converts an RFC 3339 time to milliseconds. */
export function millisOf(time: string | undefined | null): number | undefined {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? undefined : at;
}
