import { badRequest, internal } from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { applyJsonPatch, applyMergePatch, checkTyped, goPlain, serverSideApply } from '../../patch/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Registry } from '../../resources/registry.ts';
import { converterProblem } from '../../resources/shape.ts';
import { parseJsonBody } from '../bodies/body.ts';
import { CARRIED_SCALE } from '../bodies/carried.ts';
import { checkPatched, strictMessage, unknownFields } from '../bodies/decode.ts';
import { unknownField } from '../bodies/duplicate-fields.ts';
import { sameVersion } from '../bodies/type-meta.ts';
import { invalidPatch, parseApplied, patchedText, refuseVersion } from '../writes/patch.ts';

const MOST_REPLICAS = 2 ** 31 - 1;

/** Returns Go's error if the number of replicas is not a 32-bit integer. */
function replicasProblem(scale: ApiObject): string | undefined {
  const replicas: unknown = (scale.spec as { replicas?: unknown } | undefined)?.replicas ?? 0;
  const found = wrongType(replicas);
  return found === undefined
    ? undefined
    : `json: cannot unmarshal ${found} into Go struct field ScaleSpec.spec.replicas of type int32`;
}

function wrongType(replicas: unknown): string | undefined {
  if (typeof replicas === 'number') {
    return Number.isInteger(replicas) && replicas >= -MOST_REPLICAS - 1 && replicas <= MOST_REPLICAS
      ? undefined
      : `number ${replicas}`;
  }
  if (Array.isArray(replicas)) return 'array';
  return typeof replicas === 'boolean' ? 'bool' : typeof replicas;
}

/** @throws StatusError 400 if the body is not a valid Scale */
export function sentScale(body: Record<string, unknown>, served: ServedKind): ApiObject {
  const scale = body as ApiObject;
  checkPatched(scale, served);
  const problem = replicasProblem(scale);
  if (problem !== undefined) throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${problem}`);
  return scale;
}

/** Reduces the replicas to 32 bits, as Go's converter does. */
function keepLastBits({ spec = {} }: ApiObject): void {
  const given = spec as { replicas?: unknown };
  const { replicas } = given;
  if (typeof replicas !== 'bigint' && !Number.isInteger(replicas)) return;
  const value = BigInt(replicas as bigint | number);
  if (BigInt.asIntN(64, value) === value) given.replicas = Number(BigInt.asIntN(32, value));
}

/** @throws StatusError 500 if a number has a fraction */
function convertApplied(scale: ApiObject): void {
  keepLastBits(scale);
  if (replicasProblem(scale) === undefined) return;
  throw internal(
    `failed to convert new object (/${scale.metadata.name ?? ''}; autoscaling/v1, Kind=Scale) to proper version: unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot convert float64 to int32`,
  );
}

const INVALID = 'request to convert CR to an invalid group/version: autoscaling/v1';

/**
 * kube-apiserver cannot convert the Scale of a custom kind, so an apply that changes such a Scale fails.
 * @throws StatusError 400, 409 or 500 if the apply fails
 */
function appliedScale({ served, options, now }: PatchOfScale, current: ApiObject, bytes: Uint8Array): ApiObject {
  const applied = readApplied(bytes);
  const custom = served.kind.custom === true;
  if (custom && current.metadata.managedFields === undefined) {
    throw failure(
      `failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: ${INVALID}`,
    );
  }
  const { kind } = CARRIED_SCALE;
  const scale = serverSideApply({
    live: current,
    applied,
    manager: options.fieldManager,
    force: options.force,
    now,
    kind,
    schema: kind.schema ?? {},
    subresource: 'scale',
  });
  if (custom && !jsonEquals(scale.spec ?? {}, current.spec ?? {})) {
    const { namespace = '', name = '' } = current.metadata;
    throw failure(
      `failed to convert new object (${namespace}/${name}; autoscaling/v1, Kind=Scale) to proper version: ${INVALID}`,
    );
  }
  checkPatched(scale, served);
  convertApplied(scale);
  return scale;
}

const failure = (message: string): StatusError => new StatusError({ message, code: 500 });

interface PatchOfScale {
  readonly registry: Registry;
  readonly served: ServedKind;
  readonly options: WriteOptions;
  readonly warn: (message: string) => void;
  readonly now: Date;
}

function parsePatch(bytes: Uint8Array, prefix: string): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    return parseJsonBody(text);
  } catch {
    throw badRequest(`${prefix}${jsonProblem(text)}`);
  }
}

/**
 * Reads an applied configuration of a Scale. The configuration needs a kind and apiVersion, and may contain only fields
 * of a Scale.
 * @throws StatusError 400 or 500 for an invalid configuration
 */
function readApplied(bytes: Uint8Array): ApiObject {
  const applied = parseApplied(bytes);
  const { apiVersion = '', kind = '' } = applied as Partial<ApiObject>;
  if (!sameVersion(applied, CARRIED_SCALE)) {
    throw badRequest(`invalid object type: ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`);
  }
  checkTyped(applied, { schema: CARRIED_SCALE.kind.schema ?? {} });
  return applied;
}

/** @throws StatusError 400, 422 or 500 for an invalid patch */
export function patchedScale(given: PatchOfScale, current: ApiObject, type: string, bytes: Uint8Array): ApiObject {
  if (type === 'application/apply-patch+yaml') return appliedScale(given, current, bytes);
  const { registry, served, options, warn } = given;
  const before = structuredClone(current) as JsonObject;
  const strategic = type === 'application/strategic-merge-patch+json';
  const patch = parsePatch(bytes, strategic ? '' : 'error decoding patch: ');
  // A Scale contains no lists, so a strategic merge patch has the effect of a merge patch.
  const made =
    type === 'application/json-patch+json'
      ? applyJsonPatch(before, patch)
      : applyMergePatch(before, patch as JsonObject);
  const scale = made as ApiObject;
  const shown = (): string => (strategic ? goPlain(patch) : patchedText(current, scale));
  checkPatched(scale, served);
  if (strategic) Object.assign(scale, { apiVersion: CARRIED_SCALE.apiVersion, kind: CARRIED_SCALE.kind.kind });
  if (!sameVersion(scale, CARRIED_SCALE)) refuseVersion(scale, current, CARRIED_SCALE, registry.kinds);
  if (strategic) keepLastBits(scale);
  const problem = replicasProblem(scale);
  if (problem !== undefined) {
    throw invalidPatch(shown(), strategic ? converterProblem(look(scale, 'spec').replicas, 'int32') : problem);
  }
  const unknown = options.fieldValidation === 'Ignore' ? [] : unknownFields(made, CARRIED_SCALE).map(unknownField);
  if (unknown.length > 0 && options.fieldValidation === 'Strict') throw invalidPatch(shown(), strictMessage(unknown));
  for (const problem of unknown) warn(problem);
  return scale;
}
