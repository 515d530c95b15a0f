import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';

export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const SET_ELEMENT_ORDER = '$setElementOrder/';
export const DELETE_FROM_PRIMITIVE_LIST = '$deleteFromPrimitiveList/';

/** Prints a value like `%v` in Go, for errors of the patch library. */
export function goPlain(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPlain).join(' ')}]`;
  if (!isRecord(value)) return String(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goPlain(value[key])}`);
  return `map[${fields.join(' ')}]`;
}

/** Formats a value like `%s` in Go. */
function goString(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.map(goString).join(' ')}]`;
  if (value === null || value === undefined) return '<nil>';
  if (!isRecord(value)) return `%!s(${goType(value)}=${value})`;
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goString(value[key])}`);
  return `map[${fields.join(' ')}]`;
}

export const GO_LIST = '[]interface {}';
export const GO_MAP = 'map[string]interface {}';

export function goType(value: unknown): string {
  if (value === null || value === undefined) return '%!s(<nil>)';
  if (Array.isArray(value)) return GO_LIST;
  if (isRecord(value)) return GO_MAP;
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64';
}

/** Returns the error for a patch that contradicts the schema. */
export const patchError = (message: string): StatusError => new StatusError({ code: 500, message });

export const formatError = (message: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message });

export const noMergeKey = (item: unknown, key: string): StatusError =>
  patchError(`map: ${goPlain(item)} does not contain declared merge key: ${key}`);

export const unknownPatchType = (type: unknown, map: unknown): StatusError =>
  patchError(
    `unknown patch type: ${type === null || type === undefined ? goType(type) : goString(type)} in map: ${goPlain(map)}`,
  );

/** Returns the error for a value of the wrong type, with the text of Go's patch library. */
export const badType = (expected: string, actual: unknown): StatusError =>
  patchError(`expected a ${expected}, but received a ${goType(actual)}`);

export function discardNulls(value: unknown): void {
  if (Array.isArray(value)) for (const item of value) discardNulls(item);
  if (!isRecord(value)) return;
  for (const key of Object.keys(value)) {
    if (value[key] === null) delete value[key];
    else discardNulls(value[key]);
  }
}

/** Removes all maps with the key `$patch` from a value. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isRecord(value)) return value;
  if (Object.hasOwn(value, PATCH)) return undefined;
  for (const key of Object.keys(value)) {
    const kept = withoutDirectives(value[key]);
    if (kept === undefined) delete value[key];
    else value[key] = kept;
  }
  return value;
}
