import { isRecord } from '@mcm/kube';

/** Returns true for an absent, empty or zero value. Typed objects of Go cannot distinguish these values. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(isNothing);
}

/**
 * Absent, null, empty and zero values are equal, and the order of keys is ignored. The original writes `{}` in some
 * fields that mcm omits. This difference must not cause a rollout after a take-over.
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
 * Converts a value to JSON with sorted keys and without empty values, so that equal values have equal texts. Empty
 * items of lists stay, because they determine the positions of other items.
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
