/**
 * Matches unsafe characters: control characters, line separators, and characters that are invisible or change the
 * direction of text.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\t': '\t', '\n': '\\n', '\r': '\\r', '\u001b': '^[' };

/**
 * Makes a line safe for a terminal. Names and messages may contain escape sequences, line breaks or characters that
 * reorder text. A visible form replaces each unsafe character, but a tab stays unchanged.
 */
export const printable = (line: string): string =>
  line.replace(UNSAFE, (char) => NAMED[char] ?? `\\u{${char.codePointAt(0)?.toString(16)}}`);

/** Matches unsafe characters in JSON and YAML. A line break is safe, because it separates lines. */
const UNSAFE_IN_QUOTES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns true if a string needs double quotes in YAML, so that {@link escapedInQuotes} can escape its characters. */
export const needsQuotes = (text: string): boolean => text.search(UNSAFE_IN_QUOTES) >= 0;

/**
 * Escapes unsafe characters of JSON, or of YAML with double quotes, as `\\u`. A parser still returns the original text.
 */
export const escapedInQuotes = (text: string): string =>
  text.replace(UNSAFE_IN_QUOTES, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
