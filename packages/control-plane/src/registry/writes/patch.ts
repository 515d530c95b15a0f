import { badRequest, internal } from '../../apimachinery/errors/errors.ts';
import { jsonProblem } from '../../apimachinery/errors/json-problem.ts';
import { stringifyJson } from '../../apimachinery/objects/json.ts';
import { goJson, isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject, JsonObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  goPlain,
  RepeatedValues,
  serverSideApply,
} from '../../patch/index.ts';
import type { KindRegistry, ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Call, Registry, Target, Written } from '../../resources/registry.ts';
import { converterProblem, convertUntyped, DecodeError, roundTrip } from '../../resources/shape.ts';
import { parseJsonBody } from '../bodies/body.ts';
import { checkPatched, normalize, strictMessage } from '../bodies/decode.ts';
import {
  duplicateFields,
  mixedProblems,
  problemsInOrder,
  repeatedField,
  unknownField,
} from '../bodies/duplicate-fields.ts';
import { isOfResource, parseApiVersion, sameVersion, typeMetaProblem, unconvertible } from '../bodies/type-meta.ts';
import { parseYamlText, repeatedKeys, yamlProblems } from '../bodies/yaml-body.ts';
import { versionsOf } from './create.ts';
import { nameless, type Transformation, updateObject } from './update.ts';

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/** Returns the supported patch types in the order of the error about an unsupported type. */
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
    return parseJsonBody(text);
  } catch {
    throw badRequest(`${prefix}${jsonProblem(text)}`);
  }
}

/** Returns whether a parsed body is an object. */
const isJsonObject = (body: unknown): body is JsonObject => isRecord(body);

/** The fields that an operation of a JSON patch may have. */
const OPERATION: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

function unknownInOperations(operations: unknown): string[] {
  if (!Array.isArray(operations)) return [];
  return operations.flatMap((operation: unknown, index) =>
    isRecord(operation)
      ? Object.keys(operation)
          .filter((field) => !OPERATION.has(field))
          .map((field) => `[${index}].${field}`)
      : [],
  );
}

/**
 * Returns the messages about a patch. A patch may have repeated fields, and the operations of a JSON patch may have
 * unknown fields.
 */
function problemsOfPatch(type: PatchType, bytes: Uint8Array): string[] {
  const text = Buffer.from(bytes).toString('utf8');
  const patch = parseJsonBody(text);
  if (type !== 'application/json-patch+json') return duplicateFields(text, patch).map(repeatedField);
  const unknown = unknownInOperations(patch);
  const problems =
    unknown.length > 0 ? problemsInOrder(text, unknown) : duplicateFields(text, patch).map(repeatedField);
  return problems.map((problem) => `json patch ${problem}`);
}

/**
 * Returns the error for a merge patch that is not a JSON object. Without field validation, kube-apiserver accepts a
 * list as a merge patch.
 */
function replacingPatch(patch: unknown): StatusError {
  if (!Array.isArray(patch)) return badRequest('Invalid JSON Patch');
  const type = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  const why = `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${type}`;
  return invalidPatch(goJson(patch), why);
}

interface Patched {
  readonly object: JsonObject;
  readonly repeated: readonly string[];
}

function jsonPatcher(
  bytes: Uint8Array,
  patch: unknown,
  { fieldValidation }: WriteOptions,
): (target: JsonObject) => Patched {
  const paths = fieldValidation === 'Ignore' ? [] : duplicateFields(Buffer.from(bytes).toString('utf8'), patch);
  return (target) => {
    const values = paths.length === 0 ? undefined : new RepeatedValues(paths);
    const object = applyJsonPatch(target, patch, values);
    return { object, repeated: values?.left(object) ?? [] };
  };
}

/** Parses a patch, and returns a function that applies it. */
function patcher(
  type: PatchType,
  bytes: Uint8Array,
  served: ServedKind,
  options: WriteOptions,
): (target: JsonObject) => Patched {
  const prefix = type === 'application/strategic-merge-patch+json' ? '' : 'error decoding patch: ';
  const patch = parsePatch(bytes, prefix);
  if (type === 'application/json-patch+json') return jsonPatcher(bytes, patch, options);
  const apply = mergePatcher(type, patch, served, options);
  return (target) => ({ object: apply(target), repeated: [] });
}

function mergePatcher(
  type: PatchType,
  patch: unknown,
  served: ServedKind,
  { fieldValidation }: WriteOptions,
): (target: JsonObject) => JsonObject {
  const prefix = type === 'application/strategic-merge-patch+json' ? '' : 'error decoding patch: ';
  if (patch === null && type === 'application/merge-patch+json') throw badRequest('Invalid JSON Patch');
  // A strategic merge patch with the value `null` leaves the object unchanged.
  if (patch === null) return (target) => target;
  if (type === 'application/merge-patch+json' && fieldValidation === 'Ignore' && !isRecord(patch)) {
    throw replacingPatch(patch);
  }
  if (!isJsonObject(patch)) {
    const type_ = Array.isArray(patch) ? 'array' : typeof patch;
    throw badRequest(`${prefix}json: cannot unmarshal ${type_} into Go value of type map[string]interface {}`);
  }
  if (type === 'application/merge-patch+json') return (target) => applyMergePatch(target, patch);
  return (target) => applyStrategicMergePatch(target, patch, served.kind.schema ?? {});
}

/** Sorts the keys of changed maps, as Go's patch libraries do. */
function opened(before: unknown, after: unknown, isTop = false): unknown {
  if (!isTop && jsonEquals(before, after)) return before;
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.map((item, index) => opened(before[index], item));
  }
  if (!isRecord(before) || !isRecord(after)) return after;
  const fields = Object.entries(after).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, value]) => [key, opened(before[key], value)]));
}

export const patchedText = (before: unknown, after: unknown): string => stringifyJson(opened(before, after, true));

/** Returns the error for an invalid patched object. */
export const invalidPatch = (shown: string, why: string): StatusError => {
  const message = `Invalid value: ${stringifyJson(shown)}: ${why}`;
  return new StatusError({
    message: ` "" is invalid: patch: ${message}`,
    reason: 'Invalid',
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
    code: 422,
  });
};

const TYPE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

interface PatchFacts {
  /** Returns the text of a strategic merge patch. */
  readonly strategic: (() => string) | undefined;
  readonly problems: readonly string[];
  readonly repeated: readonly string[];
}

/** Decodes a patched object: removes unknown fields, checks the types of the metadata, and sets defaults. */
function decodePatched(
  patched: JsonObject,
  live: ApiObject,
  served: ServedKind,
  kinds: KindRegistry,
  call: Call,
  options: WriteOptions,
  { strategic, problems: ofPatch, repeated }: PatchFacts,
): ApiObject {
  const object = patched as ApiObject;
  if (served.kind.custom && (object.kind ?? '') === '') {
    const text = goJson(object);
    throw invalidPatch(text, `Object 'Kind' is missing in '${text}'`);
  }
  if (served.kind.custom && (object.apiVersion as unknown) === null) {
    const why = '.apiVersion accessor error: <nil> is of the type <nil>, expected string';
    throw invalidPatch(goJson(object), why);
  }
  if (strategic !== undefined) {
    for (const field of ['apiVersion', 'kind'] as const) {
      const value: unknown = object[field] ?? '';
      if (typeof value !== 'string') throw invalidPatch(strategic(), converterProblem(value, 'string'));
    }
    // A patch cannot change the kind, so the result has the kind of the live object.
    object.apiVersion = served.apiVersion;
    object.kind = served.kind.kind;
  }
  const whole = options.fieldValidation === 'Strict' ? structuredClone(object) : object;
  const shown = (): string => strategic?.() ?? patchedText(live, whole);
  const wrongType = typeMetaProblem(object);
  if (wrongType !== undefined) throw invalidPatch(shown(), wrongType);
  if (strategic === undefined && !served.kind.custom) {
    if ((object.apiVersion ?? '') === '') throw unversioned(object, live, served, kinds, options, shown, call);
    if ((object.kind ?? '') === '') object.kind = served.kind.kind;
  }
  if (parseApiVersion(object.apiVersion ?? '') === undefined) {
    throw invalidPatch(shown(), `unexpected GroupVersion string: ${object.apiVersion}`);
  }
  const read = (): string[] => {
    checkPatched(object, served);
    if (!served.kind.custom && !sameVersion(object, served)) refuseVersion(object, live, served, kinds);
    if (!served.kind.custom || sameVersion(object, served)) return normalize(object, served);
    // If a patch changed the kind, no schema exists for the object.
    return isOfResource(object, served)
      ? Object.keys(object)
          .filter((field) => !TYPE_FIELDS.has(field))
          .sort()
      : [];
  };
  const unknown = typed(strategic !== undefined, shown, strategic === undefined ? read : () => convertUntyped(read));
  // For built-in kinds, Go decodes the patched text, in which the keys are sorted. For strategic merge patches, Go's
  // converter sorts its messages.
  const found = served.kind.custom
    ? [...repeated.map(repeatedField), ...unknown.map(unknownField)]
    : mixedProblems(repeated, unknown);
  const problems = [...ofPatch, ...(strategic === undefined ? found : found.sort())];
  if (problems.length > 0) {
    if (options.fieldValidation === 'Strict') throw invalidPatch(shown(), strictMessage(problems));
    if (options.fieldValidation === 'Warn') for (const problem of problems) call.warn(problem);
  }
  return object;
}

const UNVERSIONED: ReadonlySet<string> = new Set([
  'Status',
  'APIVersions',
  'APIGroupList',
  'APIGroup',
  'APIResourceList',
]);

/**
 * Returns the error for a patched object without an apiVersion, which kube-apiserver decodes as the internal version.
 */
function unversioned(
  object: ApiObject,
  live: ApiObject,
  served: ServedKind,
  kinds: KindRegistry,
  { fieldValidation }: WriteOptions,
  shown: () => string,
  call: Call,
): StatusError {
  const kind = (object as Partial<ApiObject>).kind ?? '';
  if (kind !== '' && kind !== served.kind.kind) {
    const { group, version } = served.kind;
    const isOther = kinds.of(group, version).some((each) => each.kind.kind === kind || each.kind.listKind === kind);
    const target = group === '' ? 'core' : (group.split('.')[0] ?? '');
    const isUnversioned = UNVERSIONED.has(kind);
    const why =
      isOther || isUnversioned
        ? `converting (${isUnversioned ? 'v1' : target}.${kind}) to (${target}.${served.kind.kind}): unknown conversion`
        : `no kind "${kind}" is registered for the internal version of group "${group}" in scheme "pkg/runtime/scheme.go:111"`;
    return invalidPatch(shown(), why);
  }
  const unknown = Object.keys(object)
    .filter((field) => field !== 'apiVersion' && field !== 'kind')
    .sort()
    .map(unknownField);
  if (fieldValidation === 'Strict') return invalidPatch(shown(), strictMessage(unknown));
  if (fieldValidation === 'Warn') for (const problem of unknown) call.warn(problem);
  return nameless(live.metadata.name ?? '');
}

/** Refuses a patch that changes the kind or version of an object. */
export function refuseVersion(object: ApiObject, live: ApiObject, served: ServedKind, kinds: KindRegistry): never {
  const other = kinds.byKind(object.apiVersion, object.kind)?.kind;
  if (other?.model !== undefined) roundTrip(structuredClone(object), other.model);
  throw invalidPatch(patchedText(live, object), unconvertible(object.apiVersion, object.kind, served, kinds));
}

/** Runs `read`, and adds the patched object to its error. */
function typed(isStrategic: boolean, shown: () => string, read: () => string[]): string[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalidPatch(shown(), isStrategic ? error.converterWhy : error.why);
  }
}

/** @throws StatusError 400, 404, 409, 415, 422 or 500 if the patch fails */
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
  let patch: ((target: JsonObject) => Patched) | undefined;
  const isStrategic = type === 'application/strategic-merge-patch+json';
  // The server formats the text of a strategic merge patch only for an error.
  const strategic = isStrategic ? () => goPlain(parsePatch(bytes, '')) : undefined;
  let problems: readonly string[] | undefined;
  let warned = false;
  // After a conflict, the second attempt sends no second warning.
  const quiet: Call = { ...call, warn: (message) => (warned ? undefined : call.warn(message)) };
  const transformation: Transformation = {
    patched: true,
    next: (live, old) => {
      patch ??= patcher(type, bytes, served, options);
      const { object: patched, repeated } = patch(live() as JsonObject);
      problems ??= options.fieldValidation === 'Ignore' ? [] : problemsOfPatch(type, bytes);
      const facts = { strategic, problems, repeated };
      const object = decodePatched(patched, old, served, registry.kinds, quiet, options, facts);
      warned = true;
      return object;
    },
  };
  return updateObject(registry, call, target, transformation, options);
}

/** Parses the body of an apply, which is YAML or JSON. */
export function parseApplied(bytes: Uint8Array): ApiObject {
  const text = Buffer.from(bytes).toString('utf8');
  const value = parseYamlText(text, 'error decoding YAML: ');
  if (value === null || value === undefined) throw badRequest('invalid object type: /, Kind=');
  if (!isRecord(value as JsonObject)) {
    const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
    );
  }
  return value as ApiObject;
}

/** @throws StatusError 400 if the version or kind differs from the resource */
function checkAppliedType(applied: ApiObject, { apiVersion: expected, kind: own }: ServedKind): void {
  const { apiVersion = '', kind = '' } = applied as Record<string, unknown>;
  if (apiVersion === expected && kind === own.kind) return;
  const parsed = typeof apiVersion === 'string' ? parseApiVersion(apiVersion) : { group: '', version: '' };
  // If the apiVersion is invalid, the error omits the type of the object.
  const { group, version } = parsed ?? { group: '', version: '' };
  const name = parsed === undefined || typeof kind !== 'string' ? '' : kind;
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${name}`);
}

/**
 * A configuration may match the schema, but contain a value that Go's types cannot store. Returns the error for this
 * value.
 */
function unreadableApply({ metadata }: ApiObject, { kind }: ServedKind, error: DecodeError): StatusError {
  const type = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
  const name = `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  return internal(
    `failed to convert new object (${name}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${error.converterWhy}`,
  );
}

const INTEGERS = ['deletionGracePeriodSeconds', 'generation'] as const;

const isInt64 = (value: unknown): boolean =>
  typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);

/** Removes invalid integers from the metadata. */
function dropMalformed(metadata: ApiObject['metadata']): void {
  for (const field of INTEGERS) {
    const value: unknown = metadata[field];
    if (isNumber(value) && !isInt64(value)) delete metadata[field];
  }
}

const MADE_BY_STATUS: ReadonlySet<string> = new Set([
  '/services',
  'admissionregistration.k8s.io/validatingadmissionpolicies',
]);

const makesObject = ({ served, subresource }: Target): boolean =>
  subresource === 'status' && MADE_BY_STATUS.has(served.resource);

/**
 * Reports repeated keys of an apply, as an error or as a warning.
 * @throws StatusError 400 if the client requests an error.
 */
function checkRepeatedKeys(bytes: Uint8Array, { fieldValidation }: WriteOptions, call: Call): void {
  if (fieldValidation === 'Ignore') return;
  const text = Buffer.from(bytes).toString('utf8');
  if (isJsonWithoutRepeats(text)) return;
  const lines = repeatedKeys(text);
  if (lines.length === 0) return;
  if (fieldValidation === 'Strict') {
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${yamlProblems(lines)}`);
  }
  for (const line of lines) call.warn(line);
}

/**
 * Returns whether a text is JSON without repeated keys. Most clients send JSON, and parsing YAML is much more
 * expensive.
 */
function isJsonWithoutRepeats(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    return duplicateFields(text, JSON.parse(text)).length === 0;
  } catch (error) {
    // A YAML text in flow style may start like JSON.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/**
 * Returns whether an apply changes nothing, so that the live object stays. As in kube-apiserver, such an apply to a
 * version other than the storage version adds no defaults to the stored object.
 */
function keepsLive(merged: ApiObject, live: ApiObject | undefined, { kind }: ServedKind): boolean {
  if (live === undefined || kind.storageVersion === undefined) return false;
  const body = ({ metadata: { managedFields: _managers, ...metadata }, ...rest }: ApiObject) => ({ ...rest, metadata });
  return jsonEquals(body(merged), body(live));
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
    checkAppliedType(applied, served);
    if (!isRecord(applied.metadata ?? {})) checkPatched(applied, served);
    return applied;
  };
  let isChecked = false;
  let isOdd = false;
  const apply = (live: ApiObject | undefined): ApiObject => {
    const merged = serverSideApply({
      live,
      applied: read(),
      manager: options.fieldManager,
      force: options.force,
      schema: served.kind.schema,
      subresource: target.subresource,
      now: registry.now(),
      kind: served.kind,
      versionOf: versionsOf(registry, served.kind),
    });
    isOdd = storesAsSent(target) && isOddMeta(merged.metadata, served);
    if (served.kind.custom) dropMalformed(merged.metadata);
    try {
      convertUntyped(() => {
        checkPatched(merged, served, true);
        if (!keepsLive(merged, live, served)) normalize(merged, served, true);
      });
    } catch (error) {
      if (error instanceof DecodeError) throw unreadableApply(read(), served, error);
      throw error;
    }
    if (!isChecked) checkRepeatedKeys(bytes, options, call);
    isChecked = true;
    return merged;
  };
  const transformation: Transformation = {
    next: (live) => apply(live()),
    create: target.subresource === '' || makesObject(target) ? () => apply(undefined) : undefined,
    managed: true,
    patched: true,
    isOdd: () => isOdd,
  };
  return updateObject(registry, call, target, transformation, options).then((written) => {
    if (isOdd && !options.dryRun) {
      const record = registry.store.get(served.resource, target.namespace, target.name);
      if (record !== undefined) registry.lacksDefaults(record);
    }
    return written;
  });
}

/** Returns whether the server stores the metadata of an applied object unchanged. */
const storesAsSent = ({ served: { kind }, subresource }: Target): boolean =>
  kind.custom === true && subresource === '' && (kind.storageVersion ?? kind.version) === kind.version;

const STORES_FIELDS = new Set(['generation', 'managedFields', 'resourceVersion', 'selfLink']);

/** Returns whether metadata contains nulls, empty values or invalid numbers. */
const isOddMeta = (metadata: ApiObject['metadata'], { kind }: ServedKind): boolean =>
  Object.entries(metadata).some(([field, value]: [string, unknown]) => {
    if (STORES_FIELDS.has(field) || (field === 'namespace' && kind.namespaced)) return false;
    if (isNumber(value)) return !isInt64(value);
    if (typeof value !== 'object' || value === null) return value === null || value === '';
    const inner: unknown[] = Object.values(value);
    return inner.length === 0 || inner.includes(null);
  });
