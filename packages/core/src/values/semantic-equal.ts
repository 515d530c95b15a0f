/** Whether a value says nothing: Go's typed objects cannot tell an absent field from an empty or zero one. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(isNothing);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Equality of JSON values where absent, null, empty and zero are the same and the order of keys does not matter.
 * Objects written by the Go controllers carry `{}` where ours carry nothing; a takeover must see no difference.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isRecord(a) && isRecord(b)) {
    for (const key of Object.keys(a)) if (!semanticEqual(a[key], b[key])) return false;
    for (const key of Object.keys(b)) if (!(key in a) && !isNothing(b[key])) return false;
    return true;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => semanticEqual(item, b[index]));
  }
  return isNothing(a) && isNothing(b);
}

/**
 * The value with sorted keys and without anything that says nothing, as JSON: equal text for semantically equal values
 * (but for the empty items of lists, which keep their place).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const fields = Object.keys(value)
      .filter((key) => !isNothing(value[key]))
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}
