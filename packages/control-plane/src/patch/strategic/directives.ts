import { isRecord, put } from '../../apimachinery/objects/json-value.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';

/** Words of a strategic merge patch that say how, not what. */
export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const SET_ELEMENT_ORDER = '$setElementOrder/';
export const DELETE_FROM_PRIMITIVE_LIST = '$deleteFromPrimitiveList/';

/** A value as Go's `%v` prints it in the complaints of the patch library. */
export function goPlain(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (!isRecord(value)) return String(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPlain(value[key])}`);
  return `map[${fields.join(' ')}]`;
}

/** A patch that contradicts the schema: the server answers 500 with the bare message. */
export const patchError = (message: string): StatusError => new StatusError({ code: 500, message });

/** A directive of the wrong form. */
export const formatError = (message: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message });

export const noMergeKey = (item: unknown, key: string): StatusError =>
  patchError(`map: ${goPlain(item)} does not contain declared merge key: ${key}`);

export const unknownPatchType = (type: unknown, map: unknown): StatusError =>
  patchError(`unknown patch type: ${goPlain(type)} in map: ${goPlain(map)}`);

/** A patch value that meets nothing: taken as it is, without nulls; undefined where `$patch` says what to do. Other directives stay. */
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
