import { isRecord } from '@mcm/kube';

type Json = Readonly<Record<string, unknown>>;

/** Compares two JSON values; a key with the value undefined counts as absent. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => jsonEquals(item, b[i]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) if (!jsonEquals(a[key], b[key])) return false;
  return true;
}

/** Returns the JSON merge patch (RFC 7386) that changes `from` to `to`, or undefined if both are equal. */
export function mergeDiff(from: object | undefined, to: object): Json | undefined {
  const before = (from ?? {}) as Json;
  const after = to as Json;
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [before[key], after[key]];
    if (jsonEquals(old, wanted)) continue;
    if (wanted === undefined) patch[key] = null;
    else patch[key] = isRecord(old) && isRecord(wanted) ? mergeDiff(old, wanted) : wanted;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
