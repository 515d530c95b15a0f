import { badRequest, jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { apiVersionOf } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { META_FIELDS } from '../../apimachinery/objects/object-text.ts';
import type { KindRegistry, ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import { checkTime, converterComplaint, DecodeError } from '../../resources/shape.ts';
import { duplicateFields } from './duplicate-fields.ts';
import { coerceEmbedded } from './embedded.ts';
import { parseMerging } from './merge-repeated.ts';
import { checkType } from './type-meta.ts';

const META_TYPES: ReadonlyMap<string, string> = new Map([
  ['name', 'string'],
  ['generateName', 'string'],
  ['namespace', 'string'],
  ['uid', 'string'],
  ['resourceVersion', 'string'],
  ['creationTimestamp', 'string'],
  ['deletionTimestamp', 'string'],
  ['selfLink', 'string'],
  ['generation', 'number'],
  ['deletionGracePeriodSeconds', 'number'],
]);
const TIMES: ReadonlySet<string> = new Set(['creationTimestamp', 'deletionTimestamp']);
const GO_TYPES: Readonly<Record<string, string>> = { string: 'string', number: 'int64' };

/** Checks the Go types of the metadata, before the schema. */
function checkMeta(body: Record<string, unknown>, { kind }: ServedKind, isApplied = false): void {
  const fail = (value: unknown, path: string, type: string): Error => {
    // The unstructured decoder of custom kinds starts at ObjectMeta, the typed one at the object.
    const shown = kind.custom ? path : `metadata.${path}`;
    const why = `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ObjectMeta.${shown} of type ${type}`;
    return new DecodeError(why, { apiVersion: apiVersionOf(kind), kind: kind.kind }, converterComplaint(value, type));
  };
  const meta = body.metadata ?? {};
  if (!isRecord(meta)) {
    const place = kind.custom ? 'value' : `struct field ${kind.kind}.metadata`;
    const why = `json: cannot unmarshal ${jsonTypeOf(meta)} into Go ${place} of type v1.ObjectMeta`;
    throw new DecodeError(why, { apiVersion: apiVersionOf(kind), kind: kind.kind });
  }
  body.metadata = meta;
  for (const [field, value] of Object.entries(meta)) {
    if (value === null) {
      delete meta[field];
      continue;
    }
    const type = META_TYPES.get(field);
    const given = typeof value === 'bigint' ? 'number' : typeof value;
    if (type !== undefined && given !== type) throw fail(value, field, GO_TYPES[type] ?? type);
    // The types of a built-in kind parse their times later.
    if (kind.custom && !isApplied && TIMES.has(field))
      checkTime(String(value), { apiVersion: apiVersionOf(kind), kind: kind.kind });
    if (field === 'labels' || field === 'annotations') {
      if (!isRecord(value)) throw fail(value, field, 'map[string]string');
      for (const [key, item] of Object.entries(value)) {
        if (item === null) value[key] = '';
        else if (typeof item !== 'string') throw fail(item, field, 'string');
      }
    }
    if (field === 'finalizers') {
      if (!Array.isArray(value)) throw fail(value, field, '[]string');
      for (const item of value) if (typeof item !== 'string') throw fail(item, field, 'string');
    }
    if (field === 'ownerReferences' || field === 'managedFields') {
      if (!Array.isArray(value) || !value.every(isRecord)) throw fail(value, field, '[]v1.OwnerReference');
    }
    // An empty list clears all managers, like a list with an empty entry. An absent list does not.
    if (field !== 'managedFields' || !Array.isArray(value) || value.length > 0) continue;
    // For a custom object, the real server cannot distinguish an empty list from an absent one.
    if (kind.custom) delete meta[field];
    else meta[field] = [{}];
  }
}

/** Removes unknown metadata fields and returns their paths. Mutates. */
function pruneMeta(meta: Record<string, unknown>): string[] {
  const unknown = Object.keys(meta).filter((field) => !META_FIELDS.has(field));
  for (const field of unknown) delete meta[field];
  return unknown.map((field) => `metadata.${field}`);
}

/** The message of strict field validation for unknown fields. */
export const strictMessage = (unknown: readonly string[]): string =>
  `strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`;

/** Sorts paths by their position in the body. Bodies that are not JSON keep the order. */
function inOrderOf(bytes: Uint8Array, paths: string[]): string[] {
  if (paths.length < 2) return paths;
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return paths;
    throw error;
  }
  const ranks = new Map<string, number>();
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`);
      return;
    }
    ranks.set(path, ranks.size);
    if (!isRecord(value)) return;
    for (const [key, item] of Object.entries(value)) visit(item, path === '' ? key : `${path}.${key}`);
  };
  visit(body, '');
  const rank = (path: string): number => ranks.get(path) ?? Number.MAX_SAFE_INTEGER;
  return [...paths].sort((a, b) => rank(a) - rank(b));
}

/** Warnings for repeated fields of a JSON body. `body` must be unchanged since it was parsed. */
function repeatedFields(bytes: Uint8Array, body: Record<string, unknown>): string[] {
  const text = Buffer.from(bytes).toString('utf8');
  // The body is YAML or protobuf.
  if (!text.trimStart().startsWith('{')) return [];
  return duplicateFields(text, body).map((field) => `duplicate field "${field}"`);
}

/** The body of a built-in kind, where the values of repeated fields are merged. */
function readTwice(bytes: Uint8Array, given: Record<string, unknown>, { kind }: ServedKind): Record<string, unknown> {
  const merged = parseMerging(Buffer.from(bytes).toString('utf8'), kind.schema);
  return isRecord(merged) ? merged : given;
}

/**
 * Converts a body to an object: checks the type and metadata, removes unknown fields (with a warning or refusal on request), sets defaults.
 * @throws StatusError 400 or 422
 */
export function decodeObject(
  given: Record<string, unknown>,
  bytes: Uint8Array,
  served: ServedKind,
  kinds: KindRegistry,
  options: WriteOptions,
  warn: (message: string) => void,
): ApiObject {
  const found = repeatedFields(bytes, given);
  const body = found.length > 0 && !served.kind.custom ? readTwice(bytes, given, served) : given;
  const repeated = options.fieldValidation === 'Ignore' ? [] : found;
  checkType(body, served, kinds, bytes);
  checkMeta(body, served);
  const object = body as ApiObject;
  const fields = normalize(object, served);
  const unknown = served.kind.custom ? fields : inOrderOf(bytes, fields);
  tellProblems([...repeated, ...unknown.map((field) => `unknown field "${field}"`)], served, options, warn);
  return object;
}

/** Refuses the problems of strict decoding, or warns about them, as requested. @throws StatusError 400 */
function tellProblems(
  problems: readonly string[],
  { kind: { kind, version } }: ServedKind,
  { fieldValidation }: WriteOptions,
  warn: (message: string) => void,
): void {
  if (problems.length === 0) return;
  if (fieldValidation === 'Strict') {
    const why = `strict decoding error: ${problems.join(', ')}`;
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
  }
  if (fieldValidation === 'Warn') for (const problem of problems) warn(problem);
}

/** The unknown fields of a body that other code parses. Does not change the body. */
export function unknownFields(body: Record<string, unknown>, served: ServedKind): string[] {
  return normalize({ ...structuredClone(body), metadata: { ...(body.metadata ?? {}) } } as ApiObject, served);
}

/**
 * Reports unknown and repeated fields in the body of a subresource. Does not change the body.
 * @throws StatusError 400
 */
export function checkFields(
  body: Record<string, unknown>,
  bytes: Uint8Array,
  served: ServedKind,
  options: WriteOptions,
  warn: (message: string) => void,
): void {
  if (options.fieldValidation === 'Ignore') return;
  const unknown = inOrderOf(bytes, unknownFields(body, served)).map((field) => `unknown field "${field}"`);
  tellProblems([...repeatedFields(bytes, body), ...unknown], served, options, warn);
}

/** Removes unknown fields and sets defaults in place. Returns the unknown paths. `applied`: keeps nulls of a custom object for validation. */
export function normalize(object: ApiObject, served: ServedKind, applied = false): string[] {
  const unknown = pruneMeta(object.metadata as Record<string, unknown>);
  const { schema } = served;
  if (schema !== undefined) {
    unknown.push(...schema.prune(object));
    // Built-in kinds are converted to the form of the types of the real server, which have their own rules for nulls.
    if (served.kind.custom || served.kind.group === 'apiextensions.k8s.io')
      schema.setDefaults(object, { keepNulls: applied && served.kind.custom });
    if (served.kind.custom) unknown.push(...coerceEmbedded(object, schema.node, applied));
  }
  served.kind.setDefaults?.(object);
  return unknown;
}

/** Checks the metadata of a patched object. `isApplied`: the times of a custom kind are parsed later. */
export function checkPatched(object: ApiObject, served: ServedKind, isApplied = false): void {
  checkMeta(object as Record<string, unknown>, served, isApplied);
}
