import type { ApiObject, JsonObject } from '../../object.ts';
import { applyJsonPatch, applyMergePatch, checkTyped, goPlain } from '../../patch/index.ts';
import { parseJsonBody } from '../body.ts';
import { CARRIED_SCALE } from '../carried.ts';
import { checkPatched, strictMessage, unknownFields } from '../decode.ts';
import { badRequest, internal } from '../errors.ts';
import { jsonProblem } from '../json-problem.ts';
import type { ServedKind } from '../kind-registry.ts';
import type { WriteOptions } from '../options.ts';
import { invalidPatch, parseApplied, patchedText, refuseVersion } from '../patch.ts';
import type { Registry } from '../registry.ts';
import { sameVersion } from '../type-meta.ts';

const MOST_REPLICAS = 2 ** 31 - 1;

/** What of a number of replicas Go cannot read, in its words; undefined: nothing. */
function replicasProblem(scale: ApiObject): string | undefined {
  const replicas: unknown = (scale.spec as { replicas?: unknown } | undefined)?.replicas ?? 0;
  const found = wrongType(replicas);
  return found === undefined
    ? undefined
    : `json: cannot unmarshal ${found} into Go struct field ScaleSpec.spec.replicas of type int32`;
}

function wrongType(replicas: unknown): string | undefined {
  if (typeof replicas === 'number') {
    return Number.isInteger(replicas) && Math.abs(replicas) <= MOST_REPLICAS ? undefined : `number ${replicas}`;
  }
  if (Array.isArray(replicas)) return 'array';
  return typeof replicas === 'boolean' ? 'bool' : typeof replicas;
}

/** The Scale of a body. @throws StatusError 400 */
export function sentScale(body: Record<string, unknown>, served: ServedKind): ApiObject {
  const scale = body as unknown as ApiObject;
  checkPatched(scale, served);
  const problem = replicasProblem(scale);
  if (problem !== undefined) throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${problem}`);
  return scale;
}

/** Refuses an applied number that is none of Go's. @throws StatusError 500 */
export function checkApplied(scale: ApiObject): void {
  if (replicasProblem(scale) === undefined) return;
  throw internal(
    `failed to convert new object (/${scale.metadata.name ?? ''}; autoscaling/v1, Kind=Scale) to proper version: unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot convert float64 to int32`,
  );
}

/** What a patch of a Scale is part of. `warn`: of fields that nobody knows. */
interface PatchOfScale {
  readonly registry: Registry;
  readonly served: ServedKind;
  readonly options: WriteOptions;
  readonly warn: (message: string) => void;
}

function parsePatch(bytes: Uint8Array, prefix: string): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    return parseJsonBody(text);
  } catch {
    throw badRequest(`${prefix}${jsonProblem(text)}`);
  }
}

/** An applied configuration says what it is, and has nothing that a Scale has not. @throws StatusError 400 or 500 */
function readApplied(bytes: Uint8Array): JsonObject {
  const applied = parseApplied(bytes);
  const { apiVersion = '', kind = '' } = applied as Partial<ApiObject>;
  if (!sameVersion(applied, CARRIED_SCALE)) {
    throw badRequest(`invalid object type: ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`);
  }
  checkTyped(applied, { schema: CARRIED_SCALE.kind.schema ?? {} });
  return applied as unknown as JsonObject;
}

/**
 * The Scale that a patch makes of the present one.
 * @throws StatusError 400, 422 or 500
 */
export function patchedScale(
  { registry, served, options, warn }: PatchOfScale,
  current: ApiObject,
  type: string,
  bytes: Uint8Array,
): ApiObject {
  const before = structuredClone(current) as unknown as JsonObject;
  const strategic = type === 'application/strategic-merge-patch+json';
  const patch =
    type === 'application/apply-patch+yaml'
      ? readApplied(bytes)
      : parsePatch(bytes, strategic ? '' : 'error decoding patch: ');
  // A Scale has no lists, so a strategic merge patch and an applied object are merge patches of it.
  const made =
    type === 'application/json-patch+json'
      ? applyJsonPatch(before, patch)
      : applyMergePatch(before, patch as JsonObject);
  const scale = made as unknown as ApiObject;
  const shown = (): string => (strategic ? goPlain(patch) : patchedText(current, scale));
  checkPatched(scale, served);
  if (strategic) Object.assign(scale, { apiVersion: CARRIED_SCALE.apiVersion, kind: CARRIED_SCALE.kind.kind });
  if (!sameVersion(scale, CARRIED_SCALE)) refuseVersion(scale, current, CARRIED_SCALE, registry.kinds);
  const problem = replicasProblem(scale);
  if (problem !== undefined) {
    // An applied number is converted once it has been merged.
    if (type === 'application/apply-patch+yaml') return scale;
    throw invalidPatch(shown(), problem);
  }
  const unknown = options.fieldValidation === 'Ignore' ? [] : unknownFields(made, CARRIED_SCALE);
  if (unknown.length > 0 && options.fieldValidation === 'Strict') throw invalidPatch(shown(), strictMessage(unknown));
  for (const field of unknown) warn(`unknown field "${field}"`);
  return scale;
}
