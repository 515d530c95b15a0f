interface Level {
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
 * Returns whether a JSON text may contain a repeated field. If the text is as long as its value in compact JSON, no
 * field is repeated. Most client libraries send compact JSON.
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
  // To find keys, the loop reads only strings, brackets, commas and colons.
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
 * Returns the paths of repeated fields, in the order of the text.
 * @param value the value of the parsed text
 */
export const duplicateFields = (text: string, value: unknown): string[] =>
  mayRepeat(text, value) ? [...keysOf(text)].filter(({ isRepeated }) => isRepeated).map(({ path }) => path) : [];

export const repeatedField = (path: string): string => `duplicate field "${path}"`;
export const unknownField = (path: string): string => `unknown field "${path}"`;

/**
 * Returns problems in the order of the text, like Go's decoder for built-in kinds.
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

/**
 * Returns the messages about a patched object of a built-in kind.
 * @param repeated the paths of repeated fields
 * @param unknown the paths of unknown fields
 */
export function mixedProblems(repeated: readonly string[], unknown: readonly string[]): string[] {
  const isKnown = (path: string): boolean => !unknown.some((each) => path === each || isBelow(path, each));
  return [...repeated.filter(isKnown), ...unknown]
    .toSorted(compareSteps)
    .map((path) => (unknown.includes(path) ? unknownField(path) : repeatedField(path)));
}

/** Compares two paths in the order in which Go's libraries sort the keys of a map. */
export function compareSteps(one: string, other: string): number {
  const [a, b] = [one.split(/[.[]/), other.split(/[.[]/)];
  const index = a.findIndex((step, at) => step !== b[at]);
  if (index < 0) return a.length - b.length;
  return (a[index] ?? '') < (b[index] ?? '') ? -1 : 1;
}

const isBelow = (path: string, ancestor: string): boolean =>
  path.startsWith(`${ancestor}.`) || path.startsWith(`${ancestor}[`);
