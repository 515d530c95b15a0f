/** A level of the current path of the scan: the name of a field or the index of an item. */
interface Level {
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  /** The current field or item. */
  step: string;
  index: number;
}

const pathOf = (levels: readonly Level[], key: string): string => {
  const outer = levels.slice(0, -1).map(({ step, keys }) => (keys === undefined ? step : `.${step}`));
  return `${outer.join('')}.${key}`.replace(/^\./, '');
};

/**
 * The paths of repeated fields in a JSON text, in their order. A text with the same length as its parsed value has none. Most bodies of client
 * libraries are such texts, and are not scanned.
 */
export function duplicateFields(text: string, value: unknown): string[] {
  try {
    if (JSON.stringify(value).length === text.trim().length) return [];
  } catch (error) {
    // With integers of 64 bits, the text must be scanned.
    if (!(error instanceof TypeError)) throw error;
  }
  const found: string[] = [];
  const levels: Level[] = [];
  // Strings, brackets, commas and colons are sufficient to find keys.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\],]/gs)) {
    const level = levels.at(-1);
    if (token === '{' || token === '[')
      levels.push({ keys: token === '{' ? new Set() : undefined, step: '[0]', index: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && level?.keys === undefined && level !== undefined) level.step = `[${++level.index}]`;
    else if (token.endsWith(':') && token.startsWith('"') && level?.keys !== undefined) {
      const key = String(JSON.parse(token.replace(/\s*:$/, '')));
      if (level.keys.has(key)) found.push(pathOf(levels, key));
      level.keys.add(key);
      level.step = key;
    }
  }
  return found;
}
