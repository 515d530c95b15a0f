type Json = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two JSON values are the same; a key that is undefined is not there. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => jsonEquals(item, b[i]));
  }
  if (!isMap(a) || !isMap(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) if (!jsonEquals(a[key], b[key])) return false;
  return true;
}

/**
 * The JSON merge patch (RFC 7386) that turns `from` into `to`, or undefined when they are the same.
 * Lists are replaced whole; a key that `to` lacks is removed by null.
 */
export function mergeDiff(from: object | undefined, to: object): Json | undefined {
  const before = (from ?? {}) as Json;
  const after = to as Json;
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [before[key], after[key]];
    if (wanted === undefined) {
      if (old !== undefined) patch[key] = null;
    } else if (isMap(old) && isMap(wanted)) {
      const inner = mergeDiff(old, wanted);
      if (inner) patch[key] = inner;
    } else if (!jsonEquals(old, wanted)) patch[key] = wanted;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
