import { cloneJson, isRecord } from '../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { nodeOf } from '../schema/node.ts';
import { goTypeName } from './errors.ts';
import { mergeMaps } from './strategic/merge.ts';

/**
 * Applies a strategic merge patch to a copy of `target`: maps are merged by key, lists by `x-kubernetes-patch-merge-key` where the schema's
 * `x-kubernetes-patch-strategy` says `merge` (else replaced), with the directives `$patch`, `$retainKeys`, `$setElementOrder/…` and
 * `$deleteFromPrimitiveList/…`.
 * @throws StatusError 400 for a directive of the wrong form, 500 (as the real server) for a missing merge key or an unknown `$patch`
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
  return cloneJson(mergeMaps(target, body, nodeOf(schema))) as JsonObject;
}
