import { cloneJson, isRecord, own, put } from '../apimachinery/objects/json-value.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { goTypeName } from './errors.ts';

function merge(target: unknown, patch: Record<string, unknown>): JsonObject {
  const result: JsonObject = {};
  if (isRecord(target)) for (const key of Object.keys(target)) put(result, key, target[key]);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    const before = own(result, key);
    if (value === null) delete result[key];
    else if (isRecord(value)) put(result, key, merge(before, value));
    // If a list replaces an object, the function copies the list unchanged. Otherwise, the function removes null values
    // from the list.
    else put(result, key, isRecord(before) ? (cloneJson(value) as Json) : withoutNulls(value));
  }
  return result;
}

/** Removes null values from a new value, including nulls in lists. */
function withoutNulls(value: unknown): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isRecord(value) ? merge(undefined, value) : (value as Json);
}

/**
 * Applies a merge patch (RFC 7386), and returns the result. The result shares unchanged parts with `target`, which is
 * not mutated.
 * @throws StatusError 400 if the patch is not an object.
 */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const body: unknown = patch;
  if (body === null) throw new StatusError({ code: 400, reason: 'BadRequest', message: 'Invalid JSON Patch' });
  if (!isRecord(body)) {
    throw new StatusError({
      code: 400,
      reason: 'BadRequest',
      message: `error decoding patch: json: cannot unmarshal ${goTypeName(body)} into Go value of type map[string]interface {}`,
    });
  }
  return merge(target, body);
}
