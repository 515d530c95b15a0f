import { parseJson } from '../../apimachinery/objects/json.ts';
import { cloneJson, goJson, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { AppliedReader } from './appliedSet.ts';
import { compareObjects, type Scope } from './compare.ts';
import { difference, EMPTY_SET, type FieldSet } from './fields/fieldSet.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Only the field manager of `kubectl apply --server-side` may take over fields of client-side apply. */
export const KUBECTL = 'kubectl';

const MAX_ANNOTATIONS = 256 * 1024;

function lastApplied(live: ApiObject): Record<string, unknown> | undefined {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  try {
    const object: unknown = parseJson(text);
    return isRecord(object) ? object : undefined;
  } catch (error) {
    // If the annotation contains invalid JSON, kubectl cannot take over fields.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function takeableFields(live: ApiObject, node: SchemaNode | undefined, scope: Scope): FieldSet {
  const object = lastApplied(live);
  if (object === undefined) return EMPTY_SET;
  const claimed = new AppliedReader(scope).read(object, node);
  const changes = compareObjects(object, live, node, scope);
  return difference(difference(claimed, changes.changed ?? EMPTY_SET), changes.removed ?? EMPTY_SET);
}

/** Updates the annotation of client-side apply, because the next client-side apply by kubectl reads it. */
export function refreshLastApplied(result: ApiObject, applied: ApiObject): void {
  const annotations = result.metadata.annotations;
  if (annotations?.[LAST_APPLIED] === undefined) return;
  const copy = cloneJson(applied);
  if (isRecord(copy.metadata)) {
    delete copy.metadata.managedFields;
    if (isRecord(copy.metadata.annotations)) delete copy.metadata.annotations[LAST_APPLIED];
  }
  const text = `${goJson(copy)}\n`;
  const others = Object.entries(annotations).reduce(
    (size, [key, value]) => (key === LAST_APPLIED ? size : size + key.length + value.length),
    0,
  );
  result.metadata.annotations = { ...annotations, [LAST_APPLIED]: text };
  if (others + text.length + LAST_APPLIED.length > MAX_ANNOTATIONS) result.metadata.annotations[LAST_APPLIED] = '';
}
