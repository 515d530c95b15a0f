/** White space in Go, which contains U+0085 and not U+FEFF. */
const SPACE = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+';
const ENDS = new RegExp(`^${SPACE}|${SPACE}$`, 'g');

/** Removes white space at both ends of a text, as Go's `strings.TrimSpace` does. */
export const trimSpace = (text: string): string => text.replace(ENDS, '');
