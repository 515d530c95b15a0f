import { parseJson, stringifyJson } from '../json.ts';
import { DecodeError, roundTrip } from '../kinds/shape.ts';
import type { ApiObject, JsonObject } from '../object.ts';
import { applyJsonPatch, applyMergePatch, applyStrategicMergePatch, goPlain, serverSideApply } from '../patch/index.ts';
import { StatusError } from '../status.ts';
import {
  checkPatched,
  checkType,
  checkTypeMeta,
  jsonProblem,
  normalize,
  parseYamlText,
  sameVersion,
  strictMessage,
  unconvertible,
} from './decode.ts';
import { badRequest } from './errors.ts';
import type { KindRegistry, ServedKind } from './kind-registry.ts';
import { renderObject } from './object-text.ts';
import type { WriteOptions } from './options.ts';
import type { Call, Registry, Target, Written } from './registry.ts';
import { type Transformation, updateObject } from './update.ts';

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/** The types that a kind understands, in the order of the refusal of others. */
export const patchTypesOf = (served: ServedKind): readonly PatchType[] =>
  served.kind.custom
    ? ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']
    : [
        'application/json-patch+json',
        'application/merge-patch+json',
        'application/strategic-merge-patch+json',
        'application/apply-patch+yaml',
      ];

function parsePatch(bytes: Uint8Array, prefix: string): unknown {
  const text = Buffer.from(bytes).toString('utf8');
  try {
    return parseJson(text);
  } catch {
    throw badRequest(`${prefix}${jsonProblem(text)}`);
  }
}

const isPlain = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A function from the live object to the patched one, not yet decoded. */
export function patcher(type: PatchType, bytes: Uint8Array, served: ServedKind): (target: JsonObject) => JsonObject {
  const patch = parsePatch(bytes, type === 'application/strategic-merge-patch+json' ? '' : 'error decoding patch: ');
  if (type === 'application/json-patch+json') return (target) => applyJsonPatch(target, patch);
  if (patch === null && type === 'application/merge-patch+json') throw badRequest('Invalid JSON Patch');
  if (!isPlain(patch)) {
    const type_ = Array.isArray(patch) ? 'array' : typeof patch;
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${type_} into Go value of type map[string]interface {}`,
    );
  }
  if (type === 'application/merge-patch+json') return (target) => applyMergePatch(target, patch);
  return (target) => applyStrategicMergePatch(target, patch, served.kind.schema ?? {});
}

/** An object with its fields in the order of a map of Go's; what is below them keeps its own. */
const sortedFields = (object: ApiObject): string => {
  const fields = Object.entries(parseJson(renderObject(object, undefined)) as object);
  return stringifyJson(Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))));
};

/** A refusal of the decoded result of a patch shows the whole of it. */
export const invalidPatch = (object: ApiObject, why: string, shown?: string): StatusError => {
  const message = `Invalid value: ${stringifyJson(shown ?? sortedFields(object))}: ${why}`;
  return new StatusError({
    message: ` "" is invalid: patch: ${message}`,
    reason: 'Invalid',
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
    code: 422,
  });
};

/** Reads what a patch has made as an object of its kind: unknown fields, metadata types, defaults. */
function decodePatched(
  patched: JsonObject,
  served: ServedKind,
  kinds: KindRegistry,
  call: Call,
  options: WriteOptions,
  strategic: (() => string) | undefined,
): ApiObject {
  const object = patched as unknown as ApiObject;
  if (served.kind.custom && (object.kind ?? '') === '') {
    throw invalidPatch(object, `Object 'Kind' is missing in '${stringifyJson(object)}'`, stringifyJson(object));
  }
  if (strategic !== undefined) {
    // The object is made from the patched fields; what kind it is was never in question.
    object.apiVersion = served.apiVersion;
    object.kind = served.kind.kind;
  }
  const shown = options.fieldValidation === 'Strict' ? structuredClone(object) : object;
  const unknown = typed(object, served, strategic, () => {
    checkPatched(object, served);
    if (!sameVersion(object, served)) refuseVersion(object, served, kinds);
    return normalize(object, served);
  });
  if (unknown.length > 0) {
    if (options.fieldValidation === 'Strict') {
      throw invalidPatch(shown, strictMessage(unknown), strategic?.());
    }
    if (options.fieldValidation === 'Warn') for (const field of unknown) call.warn(`unknown field "${field}"`);
  }
  return object;
}

/** A patch may not make an object another kind. What the other kind cannot read comes first. */
function refuseVersion(object: ApiObject, served: ServedKind, kinds: KindRegistry): never {
  if (served.kind.custom) checkType(object, served, kinds, new Uint8Array());
  checkTypeMeta(object);
  const other = kinds.byKind(object.apiVersion, object.kind)?.kind;
  if (other?.model !== undefined) roundTrip(structuredClone(object), other.model);
  throw invalidPatch(object, unconvertible(object.apiVersion, object.kind, served, kinds));
}

/** Wrong types are told as a refusal of the patch: by all of its result, or (strategic) by the patch itself. */
function typed(
  object: ApiObject,
  served: ServedKind,
  strategic: (() => string) | undefined,
  read: () => string[],
): string[] {
  const { apiVersion, kind, metadata, ...body } = object;
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError) || served.kind.custom) throw error;
    if (strategic !== undefined) throw invalidPatch(object, error.converterWhy, strategic());
    const shown = { apiVersion, kind, metadata, ...body };
    throw invalidPatch(object, error.why, stringifyJson(shown));
  }
}

/**
 * JSON, merge and strategic merge patches, and server-side apply, of an object or its status.
 * @throws StatusError 400, 404, 409, 415, 422 or 500
 */
export function patchObject(
  registry: Registry,
  call: Call,
  target: Target,
  type: PatchType,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Written> {
  const { served } = target;
  if (type === 'application/apply-patch+yaml') return applyObject(registry, call, target, bytes, options);
  let patch: ((target: JsonObject) => JsonObject) | undefined;
  const isStrategic = type === 'application/strategic-merge-patch+json';
  // Only its refusals show a strategic merge patch, as Go prints it.
  const strategic = isStrategic ? () => goPlain(parsePatch(bytes, '')) : undefined;
  let warned = false;
  // A patch that is done again after a lost race must not warn again.
  const quiet: Call = { ...call, warn: (message) => (warned ? undefined : call.warn(message)) };
  const transformation: Transformation = {
    patched: true,
    next: (live) => {
      patch ??= patcher(type, bytes, served);
      const patched = patch(live as unknown as JsonObject);
      const object = decodePatched(patched, served, registry.kinds, quiet, options, strategic);
      warned = true;
      return object;
    },
  };
  return updateObject(registry, call, target, transformation, options);
}

/** The body of an apply: YAML, which JSON is too. */
function parseApplied(bytes: Uint8Array): ApiObject {
  const text = Buffer.from(bytes).toString('utf8');
  const value = parseYamlText(text, 'error decoding YAML: ');
  if (value === null || value === undefined) throw badRequest('invalid object type: /, Kind=');
  if (!isPlain(value as JsonObject)) {
    const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
    );
  }
  return value as unknown as ApiObject;
}

/** @throws StatusError 400 for a configuration of another version or kind */
function checkAppliedType(
  { apiVersion = '', kind = '' }: ApiObject,
  { apiVersion: expected, kind: own }: ServedKind,
): void {
  if (own.custom || (apiVersion === expected && kind === own.kind)) return;
  if (apiVersion === '' || kind === '') return;
  if (apiVersion !== expected) {
    throw badRequest(
      `incorrect version specified in apply patch. Specified patch version: ${apiVersion}, expected: ${expected}`,
    );
  }
  throw badRequest(`invalid object type: ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`);
}

function applyObject(
  registry: Registry,
  call: Call,
  target: Target,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Written> {
  const { served } = target;
  const read = (): ApiObject => {
    const applied = parseApplied(bytes);
    checkTypeMeta(applied);
    checkAppliedType(applied, served);
    checkPatched(applied, served);
    return applied;
  };
  const apply = (live: ApiObject | undefined): ApiObject => {
    const merged = serverSideApply({
      ...(live === undefined ? {} : { live }),
      applied: read(),
      manager: options.fieldManager,
      force: options.force,
      ...(served.kind.schema === undefined ? {} : { schema: served.kind.schema }),
      subresource: target.subresource,
      now: registry.now(),
      kind: served.kind,
    });
    merged.metadata.name ??= target.name;
    normalize(merged, served);
    return merged;
  };
  return updateObject(
    registry,
    call,
    target,
    {
      next: (live) => apply(live),
      ...(target.subresource === '' ? { create: () => apply(undefined) } : {}),
      managed: true,
    },
    options,
  );
}
