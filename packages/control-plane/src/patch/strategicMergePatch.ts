import { cloneJson, isRecord } from '../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { nodeOf } from '../schema/model/node.ts';
import { goTypeName } from './errors.ts';
import { mergeMaps } from './strategic/merge.ts';

/**
 * Applies a strategic merge patch to a copy of `target`. If a list has the patch strategy `merge`, the function matches
 * its items by the key in `x-kubernetes-patch-merge-key`. The directives are `$patch`, `$retainKeys`,
 * `$setElementOrder/…` and `$deleteFromPrimitiveList/…`.
 *
 * @throws StatusError 400 for an invalid directive, 500 for a missing merge key or an unknown `$patch`, as in
 * kube-apiserver
 */
export function applyStrategicMergePatch(target: JsonObject, patch: JsonObject, schema: JsonSchema): JsonObject {
  const body: unknown = patch;
  if (!isRecord(body)) {
    throw new StatusError({
      code: 400,
      reason: 'BadRequest',
      message: `json: cannot unmarshal ${goTypeName(body)} into Go value of type map[string]interface {}`,
    });
  }
  return mergeMaps(cloneJson(target), cloneJson(body), nodeOf(schema)) as JsonObject;
}
