import type { Json, JsonObject } from '../object.ts';
import { cloneJson, isRecord, own, put } from '../schema/json.ts';
import { StatusError } from '../status.ts';
import { goTypeName } from './errors.ts';

function merge(target: unknown, patch: Record<string, unknown>): JsonObject {
  const result: JsonObject = {};
  if (isRecord(target)) for (const key of Object.keys(target)) put(result, key, target[key]);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else put(result, key, isRecord(value) ? merge(own(result, key), value) : (cloneJson(value) as Json));
  }
  return result;
}

/**
 * RFC 7386. The result shares what the patch does not touch with `target`; `target` itself stays as it is.
 * @throws StatusError 400 when the patch is not an object.
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
