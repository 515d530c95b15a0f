import { isRecord, put } from '../../apimachinery/objects/json-value.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';

/** Directives of a strategic merge patch. */
export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const SET_ELEMENT_ORDER = '$setElementOrder/';
export const DELETE_FROM_PRIMITIVE_LIST = '$deleteFromPrimitiveList/';

/** Formats a value like Go's `%v`, for errors of the patch library. */
export function goPlain(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (!isRecord(value)) return String(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPlain(value[key])}`);
  return `map[${fields.join(' ')}]`;
}

/** The error for a patch that contradicts the schema: 500 with only the message. */
export const patchError = (message: string): StatusError => new StatusError({ code: 500, message });

/** The error for an invalid directive. */
export const formatError = (message: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message });

export const noMergeKey = (item: unknown, key: string): StatusError =>
  patchError(`map: ${goPlain(item)} does not contain declared merge key: ${key}`);

export const unknownPatchType = (type: unknown, map: unknown): StatusError =>
  patchError(`unknown patch type: ${goPlain(type)} in map: ${goPlain(map)}`);

/** The value of a patch for an absent field, without nulls. Undefined if `$patch` deletes it. Other directives remain. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(plainValue).filter((item) => item !== undefined);
  }
  if (!isRecord(value)) return value;
  if (Object.hasOwn(value, PATCH)) return undefined;
  const plain: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner === null) continue;
    const kept = plainValue(inner);
    if (kept !== undefined) put(plain, key, kept);
  }
  return plain;
}
