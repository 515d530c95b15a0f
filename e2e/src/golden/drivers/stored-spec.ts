const TOKEN = /"(?:\\.|[^"\\])*"|-?\d[^\s,\]}]*|true|false|null|[{}[\]:,]/g;

const isNumber = (token: string): boolean => /^-?\d/.test(token);
const typeOf = (token = ''): string => (isNumber(token) ? 'number' : token.startsWith('"') ? 'string' : token);

/** The JSON types for which Go uses the last value of a repeated key. Go merges objects, and ignores `null`. */
const REPLACED = new Set(['number', 'string', 'true', 'false']);

/** Returns the numbers that the API server stores in another form, such as 1e2 as 100. */
export const otherNumbers = (raw: string): readonly string[] =>
  (raw.match(TOKEN) ?? []).filter((token) => isNumber(token) && JSON.stringify(JSON.parse(token)) !== token);

const isSameType = (one: string, other: string): boolean =>
  one === other || [one, other].every((type) => type === 'true' || type === 'false');

/**
 * Returns true if an object repeats a key, and Go does not use the last value. The API server always stores the last
 * value.
 */
export function mergesKeys(raw: string): boolean {
  const tokens = raw.match(TOKEN) ?? [];
  const open: Map<string, string>[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token === '{' || token === '[') open.push(new Map());
    if (token === '}' || token === ']') open.pop();
    if (tokens[index + 1] !== ':' || !token.startsWith('"')) continue;
    const key = JSON.parse(token) as string;
    const type = typeOf(tokens[index + 2]);
    const before = open.at(-1)?.get(key);
    if (before !== undefined && !(REPLACED.has(type) && isSameType(before, type))) return true;
    open.at(-1)?.set(key, type);
  }
  return false;
}
