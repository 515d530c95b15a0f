/** A field name or an index in the current path. */
interface Level {
  /** The keys of the object so far, or undefined for a list. */
  readonly keys: Set<string> | undefined;
  step: string;
  index: number;
}

const pathOf = (levels: readonly Level[], key: string): string => {
  const outer = levels.slice(0, -1).map(({ step, keys }) => (keys === undefined ? step : `.${step}`));
  return `${outer.join('')}.${key}`.replace(/^\./, '');
};

interface Key {
  readonly path: string;
  readonly isRepeated: boolean;
}

/**
 * Returns false if the text is as long as its value in compact JSON, because no field can be repeated then. Most client
 * libraries send compact JSON.
 */
function mayRepeat(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(value).length !== text.trim().length;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return true;
  }
}

function* keysOf(text: string): Generator<Key> {
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
      yield { path: pathOf(levels, key), isRepeated: level.keys.has(key) };
      level.keys.add(key);
      level.step = key;
    }
  }
}

/**
 * The paths are in the order of the text.
 * @param value the parsed text
 */
export const duplicateFields = (text: string, value: unknown): string[] =>
  mayRepeat(text, value) ? [...keysOf(text)].filter(({ isRepeated }) => isRepeated).map(({ path }) => path) : [];

export const repeatedField = (path: string): string => `duplicate field "${path}"`;
export const unknownField = (path: string): string => `unknown field "${path}"`;

/**
 * Go's decoder for built-in kinds reports problems in the order of the text. A repeated unknown field is reported once,
 * as unknown. Fields inside an unknown field are not reported.
 * @param unknown the paths of unknown fields
 */
export function problemsInOrder(text: string, unknown: readonly string[]): string[] {
  const strange = new Set(unknown);
  const found = new Set<string>();
  for (const { path, isRepeated } of keysOf(text)) {
    if (strange.has(path)) found.add(unknownField(path));
    else if (isRepeated && !unknown.some((each) => isBelow(path, each))) found.add(repeatedField(path));
  }
  for (const path of unknown) found.add(unknownField(path));
  return [...found];
}

const isBelow = (path: string, ancestor: string): boolean =>
  path.startsWith(`${ancestor}.`) || path.startsWith(`${ancestor}[`);
