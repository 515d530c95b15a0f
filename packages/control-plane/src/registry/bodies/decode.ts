import { badRequest, jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { apiVersionOf } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { META_FIELDS } from '../../apimachinery/objects/object-text.ts';
import type { KindRegistry, ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { SentBody } from '../../resources/sent-body.ts';
import {
  checkTime,
  converterProblem,
  DecodeError,
  dropUnknownMeta,
  metaFieldProblem,
  noTime,
  oddNumber,
  withOddNumbers,
} from '../../resources/shape.ts';
import { compareSteps, duplicateFields, problemsInOrder, repeatedField, unknownField } from './duplicate-fields.ts';
import { coerceEmbedded } from './embedded.ts';
import { parseMerging } from './merge-repeated.ts';
import { oddNumbersOf } from './odd-numbers.ts';
import { checkType } from './type-meta.ts';
import { repeatedKeys, yamlProblems } from './yaml-body.ts';

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

/** Returns whether a value is not a 64-bit integer. The parser reads an integer with more than 64 bits as a double. */
const isNoInteger = (value: unknown): boolean =>
  typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) >= 2 ** 63);

/** Checks the Go types of the metadata, before the schema validates the object. */
function checkMeta(body: Record<string, unknown>, { kind }: ServedKind, isApplied = false): void {
  const fail = (value: unknown, path: string, type: string): Error => {
    const shown = kind.custom ? path : `metadata.${path}`;
    const odd = oddNumber(value, `metadata.${path}`);
    const found = typeof value === 'number' && type === 'int64' ? `number ${odd ?? value}` : jsonTypeOf(value);
    const why = `json: cannot unmarshal ${found} into Go struct field ObjectMeta.${shown} of type ${type}`;
    const problem = TIMES.has(path) ? noTime(value) : converterProblem(value, type);
    return new DecodeError(why, { apiVersion: apiVersionOf(kind), kind: kind.kind }, problem);
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
      if (META_FIELDS.has(field)) delete meta[field];
      continue;
    }
    const type = META_TYPES.get(field);
    const given = typeof value === 'bigint' ? 'number' : typeof value;
    const isOdd = oddNumber(value, `metadata.${field}`) !== undefined || (kind.custom === true && isNoInteger(value));
    if (type !== undefined && (given !== type || isOdd)) throw fail(value, field, GO_TYPES[type] ?? type);
    // For a built-in kind, a later step parses the times.
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
      for (const [index, item] of value.entries()) {
        if (item === null) value[index] = '';
        else if (typeof item !== 'string') throw fail(item, field, 'string');
      }
    }
    if (field === 'ownerReferences' || field === 'managedFields') {
      // For a built-in kind, a later step checks the items of the list.
      const why = kind.custom ? metaFieldProblem(field, value) : undefined;
      if (why !== undefined) throw new DecodeError(why, { apiVersion: apiVersionOf(kind), kind: kind.kind });
      const list = Array.isArray(value) ? value.map((item: unknown) => item ?? {}) : value;
      if (!Array.isArray(list) || !list.every(isRecord)) throw fail(value, field, '[]v1.OwnerReference');
      meta[field] = list;
    }
    // Like a list with one empty entry, an empty managedFields list removes all managers.
    if (field !== 'managedFields' || !Array.isArray(value) || value.length > 0) continue;
    // In a custom object, kube-apiserver treats an empty list as an absent field.
    if (kind.custom) delete meta[field];
    else meta[field] = [{}];
  }
}

/** Removes unknown metadata fields, and returns their paths. */
function pruneMeta(meta: Record<string, unknown>): string[] {
  const unknown = Object.keys(meta).filter((field) => !META_FIELDS.has(field));
  for (const field of unknown) delete meta[field];
  const lists = ['ownerReferences', 'managedFields'] as const;
  return [...unknown.map((field) => `metadata.${field}`), ...lists.flatMap((field) => dropUnknownMeta(meta, field))];
}

export const strictMessage = (problems: readonly string[]): string => `strict decoding error: ${problems.join(', ')}`;

const isJson = ({ isYaml }: SentBody, text: string): boolean => !isYaml && text.trimStart().startsWith('{');

/**
 * Returns the paths of repeated fields in a JSON body.
 * @param sent the parsed body from the client
 */
const repeatedFields = (sent: SentBody, text: string): string[] =>
  isJson(sent, text) ? duplicateFields(text, sent.plain) : [];

/** Problems of a body: repeated keys in YAML, and unknown or repeated fields. */
interface Problems {
  readonly yaml: readonly string[];
  readonly fields: readonly string[];
}

const PROTOBUF_PREFIX = 'k8s\u0000';

/**
 * Returns the problems of a body in the order of Go's decoder:
 * - JSON of custom objects: repeated fields first
 * - JSON of built-in kinds: the order of the text
 * - YAML: repeated keys first, then unknown keys in sorted order
 */
function problemsOf(
  sent: SentBody,
  text: string,
  repeated: readonly string[],
  unknown: readonly string[],
  isCustom: boolean,
): Problems {
  if (!isJson(sent, text)) {
    const yaml = text.startsWith(PROTOBUF_PREFIX) ? [] : repeatedKeys(text);
    return { yaml, fields: [...unknown].sort(compareSteps).map(unknownField) };
  }
  const isMixed = !isCustom && repeated.length + unknown.length > 1;
  const separate = (): string[] => [...repeated.map(repeatedField), ...unknown.map(unknownField)];
  return { yaml: [], fields: isMixed ? problemsInOrder(text, unknown) : separate() };
}

/** Parses the body again and merges the values of repeated fields, as Go's decoder does. */
function readTwice(text: string, given: Record<string, unknown>, { kind }: ServedKind): Record<string, unknown> {
  const merged = parseMerging(text, kind.schema);
  return isRecord(merged) ? merged : given;
}

/**
 * Decodes a request body: checks type and metadata, sets defaults, and removes unknown fields. If the client requests a
 * warning or an error for unknown fields, the function reports them.
 * @throws StatusError 400 or 422 if the body is invalid
 */
export function decodeObject(
  sent: SentBody,
  served: ServedKind,
  kinds: KindRegistry,
  options: WriteOptions,
  warn: (message: string) => void,
): ApiObject {
  const { plain: given, bytes } = sent;
  const text = Buffer.from(bytes).toString('utf8');
  const repeated = repeatedFields(sent, text);
  const body = repeated.length > 0 && !served.kind.custom ? readTwice(text, given, served) : given;
  checkType(body, served, kinds, bytes);
  const object = body as ApiObject;
  const numbers = isJson(sent, text) && !served.kind.custom ? oddNumbersOf(text) : new Map<string, string>();
  const unknown = withOddNumbers(numbers, () => {
    checkMeta(body, served);
    return normalize(object, served);
  });
  if (options.fieldValidation !== 'Ignore') {
    reportProblems(problemsOf(sent, text, repeated, unknown, served.kind.custom === true), served, options, warn);
  }
  return object;
}

/** Reports the problems of a body as an error or as warnings. */
function reportProblems(
  { yaml, fields }: Problems,
  { kind: { kind, version } }: ServedKind,
  { fieldValidation }: WriteOptions,
  warn: (message: string) => void,
): void {
  if (yaml.length + fields.length === 0) return;
  if (fieldValidation === 'Strict') {
    const problems = [...(yaml.length === 0 ? [] : [yamlProblems(yaml)]), ...fields];
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${strictMessage(problems)}`);
  }
  if (fieldValidation === 'Warn') for (const problem of [...yaml, ...fields]) warn(problem);
}

/** Returns the paths of unknown fields in a body. */
export function unknownFields(body: Record<string, unknown>, served: ServedKind): string[] {
  return normalize({ ...structuredClone(body), metadata: { ...(body.metadata ?? {}) } } as ApiObject, served);
}

/**
 * Reports unknown and repeated fields in the request body of a subresource.
 * @throws StatusError 400 if the client requests an error
 */
export function checkFields(
  sent: SentBody,
  served: ServedKind,
  options: WriteOptions,
  warn: (message: string) => void,
): void {
  if (options.fieldValidation === 'Ignore') return;
  const text = Buffer.from(sent.bytes).toString('utf8');
  reportProblems(
    problemsOf(sent, text, repeatedFields(sent, text), unknownFields(sent.plain, served), false),
    served,
    options,
    warn,
  );
}

/**
 * Removes unknown fields of an object, and returns their paths.
 * @param applied whether a custom object keeps its nulls until the validation
 */
export function normalize(object: ApiObject, served: ServedKind, applied = false): string[] {
  const unknown = pruneMeta(object.metadata as Record<string, unknown>);
  const { schema } = served;
  if (schema !== undefined) {
    unknown.push(...schema.prune(object));
    // The server converts objects of built-in kinds to Go types, which treat nulls differently.
    if (served.kind.custom) {
      schema.setDefaults(object, { keepNulls: applied });
      unknown.push(...coerceEmbedded(object, schema.node, applied));
    }
  }
  served.kind.setDefaults?.(object);
  return unknown;
}

export function checkPatched(object: ApiObject, served: ServedKind, isApplied = false): void {
  checkMeta(object as Record<string, unknown>, served, isApplied);
}
