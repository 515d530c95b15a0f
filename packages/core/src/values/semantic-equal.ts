import { isRecord } from '@mcm/kube';

/**
 * The fields whose keys a user chooses. In these fields, an entry with an empty value differs from an absent entry. For
 * example, the label `node-role.kubernetes.io/worker` has an empty value.
 */
const MAPS: ReadonlySet<string> = new Set(['annotations', 'labels', 'matchLabels', 'capacity', 'virtualCapacity']);

/** The fields in which the original distinguishes a zero value from an absent value. */
const OPTIONAL: ReadonlySet<string> = new Set(['disableHealthTimeout', 'maxEvictRetries', 'nodeConditions']);

/** Returns true for an absent, empty or zero value. Typed objects of Go cannot distinguish these values. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.entries(value).every(([field, one]) => isNothingIn(field, one));
}

function isNothingIn(field: string, value: unknown): boolean {
  if (OPTIONAL.has(field)) return value === undefined || value === null;
  return MAPS.has(field) && isRecord(value) ? Object.keys(value).length === 0 : isNothing(value);
}

/**
 * Absent, null, empty and zero values are equal, and the order of keys is ignored. The original writes `{}` in some
 * fields that mcm omits. This difference must not cause a rollout after a take-over.
 */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isRecord(a) && isRecord(b)) {
    for (const key of Object.keys(a)) if (!fieldsEqual(key, a[key], b[key])) return false;
    for (const key of Object.keys(b)) if (!(key in a) && !isNothingIn(key, b[key])) return false;
    return true;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => semanticEqual(item, b[index]));
  }
  return isNothing(a) && isNothing(b);
}

function fieldsEqual(field: string, a: unknown, b: unknown): boolean {
  if (OPTIONAL.has(field)) return (a ?? undefined) === (b ?? undefined);
  return MAPS.has(field) ? sameEntries(a, b) : semanticEqual(a, b);
}

/** Compares two maps, such as labels. An absent map equals an empty map, and the order of keys is ignored. */
export function sameEntries(a: unknown, b: unknown): boolean {
  const [left, right] = [a ?? {}, b ?? {}];
  if (!isRecord(left) || !isRecord(right)) return semanticEqual(a, b);
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => key in right && (left[key] === right[key] || semanticEqual(left[key], right[key])))
  );
}

/**
 * Converts a value to JSON with sorted keys and without empty values, so that equal values have equal texts. Empty
 * items of lists stay, because they determine the positions of other items.
 */
export function canonicalJson(value: unknown): string {
  return printed(value, isNothingIn);
}

function printed(value: unknown, omits: (field: string, value: unknown) => boolean): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const fields = Object.keys(value)
      .filter((key) => !omits(key, value[key]))
      .sort()
      .map((key) => `${JSON.stringify(key)}:${printed(value[key], MAPS.has(key) ? () => false : isNothingIn)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}
