import { deepestBracket } from '../objects/nesting.ts';

/**
 * Returns Go's error text for invalid JSON. The JSON errors of V8 differ from those of Go, so the function parses the
 * JSON text again.
 */
export function jsonProblem(text: string): string {
  const deepest = deepestBracket(text);
  if (deepest !== undefined) return `invalid character '${deepest}' exceeded max depth`;
  const trimmed = text.trimStart();
  if (trimmed === '') return 'unexpected end of JSON input';
  const first = trimmed[0] ?? '';
  // Go reads JSON byte by byte, so an error message shows the first byte of a character.
  const byte = String.fromCharCode(Buffer.from(trimmed.slice(0, 2))[0] ?? 0);
  if (!/[[{"\-0-9ntf]/.test(first)) return `invalid character '${byte}' looking for beginning of value`;
  for (const literal of ['null', 'true', 'false']) {
    if (trimmed[0] !== literal[0]) continue;
    for (let at = 1; at < literal.length; at++) {
      const character = trimmed[at];
      if (character === undefined) return 'unexpected end of JSON input';
      if (character !== literal[at]) {
        return `invalid character '${character}' in literal ${literal} (expecting '${literal[at]}')`;
      }
    }
  }
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /at position (\d+)/.exec(message);
    const character = at === null ? undefined : text[Number(at[1])];
    if (character === undefined || /end of|Unterminated/.test(message)) return 'unexpected end of JSON input';
    return `invalid character '${character}' ${jsonContext(text, Number(at?.[1] ?? 0))}`;
  }
}

/** Returns the token that Go expects at a position of the JSON text. */
function jsonContext(text: string, at: number): string {
  const before = text.slice(0, at).trimEnd().at(-1);
  switch (before) {
    case undefined:
      return 'looking for beginning of value';
    case '{':
      return 'looking for beginning of object key string';
    case ',':
      return text.lastIndexOf('{', at - 1) > Math.max(text.lastIndexOf('[', at - 1), text.lastIndexOf(']', at - 1))
        ? 'looking for beginning of object key string'
        : 'looking for beginning of value';
    case ':':
    case '[':
      return 'looking for beginning of value';
    default:
      return before === '"' ? 'after object key:value pair' : 'after top-level value';
  }
}
