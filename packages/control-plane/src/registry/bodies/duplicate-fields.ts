/** Steps of the path to where a scan is: names of fields and indexes of items. */
interface Level {
  /** undefined: a list. */
  readonly keys: Set<string> | undefined;
  /** The field or item that is being read. */
  step: string;
  index: number;
}

const pathOf = (levels: readonly Level[], key: string): string => {
  const outer = levels.slice(0, -1).map(({ step, keys }) => (keys === undefined ? step : `.${step}`));
  return `${outer.join('')}.${key}`.replace(/^\./, '');
};

/**
 * Paths of the fields that a JSON text gives twice, in the order in which they stand. A text that is as long as what was read of
 * it has none: then nothing is scanned, and that is so for nearly every body that a client's library has written.
 */
export function duplicateFields(text: string, value: unknown): string[] {
  try {
    if (JSON.stringify(value).length === text.trim().length) return [];
  } catch (error) {
    // Integers of 64 bits: the scan tells.
    if (!(error instanceof TypeError)) throw error;
  }
  const found: string[] = [];
  const levels: Level[] = [];
  // Texts, brackets, commas and colons: enough to know what is a key.
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
