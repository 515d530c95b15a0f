import { exactInteger, mayHoldLarge, parseJson, stringifyJson } from '../json.ts';
import { apiVersionOf } from '../kinds/kind.ts';
import { converterComplaint, DecodeError } from '../kinds/shape.ts';
import type { ApiObject } from '../object.ts';
import { put } from '../schema/json.ts';
import { StatusError } from '../status.ts';
import { goTags, yaml } from '../yaml.ts';
import { duplicateFields } from './duplicate-fields.ts';
import { badRequest, invalid, invalidValue, jsonTypeOf } from './errors.ts';
import type { KindRegistry, ServedKind } from './kind-registry.ts';
import { parseMerging } from './merge-repeated.ts';
import { META_FIELDS } from './object-text.ts';
import type { WriteOptions } from './options.ts';

type Plain = Record<string, unknown>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Go's words for what is wrong with a JSON text; V8's are different, so the text is read once more for them. */
export function jsonProblem(text: string): string {
  const trimmed = text.trimStart();
  if (trimmed === '') return 'unexpected end of JSON input';
  const first = trimmed[0] ?? '';
  // Go reads bytes, and shows each as a character.
  const byte = String.fromCharCode(Buffer.from(trimmed.slice(0, 2))[0] ?? 0);
  if (!/[[{"\-0-9ntf]/.test(first)) return `invalid character '${byte}' looking for beginning of value`;
  for (const literal of ['null', 'true', 'false']) {
    if (trimmed[0] !== literal[0]) continue;
    for (let at = 1; at < literal.length; at++) {
      const character = trimmed[at];
      if (character === undefined) return 'unexpected end of JSON input';
      if (character !== literal[at]) {
        return `invalid character '${character}' in literal ${literal} (expecting '${literal[at]}')`;
      }
    }
  }
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /at position (\d+)/.exec(message);
    const character = at === null ? undefined : text[Number(at[1])];
    if (character === undefined || /end of|Unterminated/.test(message)) return 'unexpected end of JSON input';
    return `invalid character '${character}' ${jsonContext(text, Number(at?.[1] ?? 0))}`;
  }
}

/** What Go expected where the text went wrong, as far as the character before tells. */
function jsonContext(text: string, at: number): string {
  const before = text.slice(0, at).trimEnd().at(-1);
  switch (before) {
    case undefined:
      return 'looking for beginning of value';
    case '{':
      return 'looking for beginning of object key string';
    case ',':
      return /\{[^[\]]*$/.test(text.slice(0, at))
        ? 'looking for beginning of object key string'
        : 'looking for beginning of value';
    case ':':
    case '[':
      return 'looking for beginning of value';
    default:
      return /"\s*$/.test(text.slice(0, at)) ? 'after object key:value pair' : 'after top-level value';
  }
}

/** The head of a body, as an error shows it: quoted text when printable JSON, else hexadecimal. */
function excerpt(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, 30)).toString('utf8');
  if (bytes.length === 0) return '<empty>';
  const shown = /^\s*\{/.test(text) ? text : Buffer.from(bytes).toString('hex').slice(0, 60);
  return bytes.length > 30 ? `${shown} ...` : shown;
}

/** 400 of a body that is not of the form that it says. */
export const unrecognized = (kind: string, why: string, bytes: Uint8Array): Error =>
  badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${excerpt(bytes)})`);

const MAYBE_LONE = /\\u[dD][89a-fA-F]/;

/** What a text says, with U+FFFD for halves of characters, which UTF-8 cannot hold: so does Go's decoder. */
export const wellFormed = (text: string, value: unknown): unknown =>
  MAYBE_LONE.test(text) ? replaceLone(value) : value;

function replaceLone(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(replaceLone);
  if (!isPlain(value)) return value;
  const made: Plain = {};
  for (const key of Object.keys(value)) put(made, key.toWellFormed(), replaceLone(value[key]));
  return made;
}

/** Integers as `parseJson` has them: only those that a double cannot hold are bigints. */
function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return exactInteger(value.toString(), Number(value));
  // On its way through JSON a whole float loses its exponent, and is an integer then.
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21) {
    return exactInteger(BigInt(value).toString(), value);
  }
  if (Array.isArray(value)) return value.map(withNumbers);
  if (isPlain(value)) for (const key of Object.keys(value)) put(value, key, withNumbers(value[key]));
  return value;
}

/** What Go misses at the end of a list or map in braces: its end, or what a sign before it promises. */
const expectedOf = (text: string, message: string): string =>
  /[[{,:]$/.test(text.trimEnd()) || !/end with/.test(message)
    ? 'node content'
    : `',' or '${message.includes('sequence') ? ']' : '}'}'`;

/** Go's words for what is wrong with a YAML text, by what the library calls it. */
function yamlProblem(error: unknown, text: string): string {
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  const number = Number(/at line (\d+)/.exec(message)?.[1] ?? '1');
  if (/Flow map|Flow sequence|end of|end with/.test(message)) {
    return `line ${number}: did not find expected ${expectedOf(text, message)}`;
  }
  const alias = /^Unresolved alias .*: (\S+)$/.exec(message)?.[1];
  if (alias !== undefined) return `unknown anchor '${alias}' referenced`;
  const said = YAML_WORDS.find(([pattern]) => pattern.test(message))?.[1];
  if (said === undefined) return message;
  // Where a key is missed, Go names the line before; and the first line goes without saying.
  const line = said === NO_KEY ? number - 1 : number;
  return line > 1 ? `line ${line}: ${said}` : said;
}

const NO_KEY = 'did not find expected key';
const YAML_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Nested mappings are not allowed|^Implicit keys need/, 'mapping values are not allowed in this context'],
  [/^Missing closing/, 'found unexpected end of stream'],
  [/^Tabs are not allowed|^Plain value cannot start/, 'found character that cannot start any token'],
  [/^All mapping items must start/, NO_KEY],
  [/^Invalid escape sequence/, 'found unknown escape character'],
];

/** The first document of a text in YAML, as Go's library reads it: later values of a key win, and what follows is not looked at. */
function readYaml(text: string, intAsBigInt: boolean): unknown {
  const options = {
    version: '1.1',
    merge: true,
    logLevel: 'error',
    uniqueKeys: false,
    intAsBigInt,
    customTags: goTags,
  } as const;
  const documents = yaml().parseAllDocuments(text, options);
  const [first] = Array.isArray(documents) ? documents : [];
  if (first === undefined) return null;
  const [problem] = first.errors;
  if (problem !== undefined) throw problem;
  const value: unknown = first.toJS({ maxAliasCount: 100 });
  if (/\.(inf|nan)|[eE]\+?\d{3}/i.test(text)) checkFinite(value);
  return value;
}

/** JSON has no such numbers. @throws NoJson */
function checkFinite(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new NoJson(`unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
  }
  if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) checkFinite(each);
}

/** YAML that is well written, and says what JSON cannot. */
class NoJson extends Error {}

/** YAML in the words of Go's library for what is wrong. @throws StatusError 400 */
export function parseYamlText(text: string, prefix = ''): unknown {
  try {
    const large = mayHoldLarge(text);
    const value = readYaml(text, large);
    return large || /\d[eE]/.test(text) ? withNumbers(value) : value;
  } catch (error) {
    if (error instanceof NoJson) throw badRequest(`${prefix}error converting YAML to JSON: json: ${error.message}`);
    throw badRequest(`${prefix}error converting YAML to JSON: yaml: ${yamlProblem(error, text)}`);
  }
}

/** A body as plain JSON. YAML is read by the rules of version 1.1, as Go's library does (`y` is true). */
export function parseBody(bytes: Uint8Array, mediaType: string, kind: string): Plain {
  const text = Buffer.from(bytes).toString('utf8');
  let value: unknown;
  if (mediaType === 'application/yaml') {
    try {
      // Nothing is an object that says nothing.
      value = parseYamlText(text) ?? {};
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      throw unrecognized(kind, error.message.replace('error converting YAML to JSON: ', ''), bytes);
    }
  } else {
    try {
      // `null` is an object that says nothing.
      value = wellFormed(text, parseJson(text)) ?? {};
    } catch {
      throw unrecognized(kind, `couldn't get version/kind; json parse error: ${jsonProblem(text)}`, bytes);
    }
  }
  if (isPlain(value)) return value;
  throw unrecognized(
    kind,
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    bytes,
  );
}

/** Why an object of one type is none of another, in the scheme's words. */
export function unconvertible(apiVersion: string, name: string, { kind }: ServedKind, kinds: KindRegistry): string {
  // The scheme knows no custom kinds.
  if (kinds.byKind(apiVersion, name)?.kind.custom !== false) {
    return `no kind "${name}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`;
  }
  const target = `${kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '')}.${kind.kind}`;
  return `converting (${apiVersion.split('/').at(-1)}.${name}) to (${target}): unknown conversion`;
}

/** apiVersion and kind are read before anything else is. @throws StatusError 400 */
export function checkTypeMeta(body: Plain): void {
  for (const field of ['apiVersion', 'kind']) {
    const value = body[field] ?? '';
    if (typeof value !== 'string') {
      throw badRequest(
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field .${field} of type string`,
      );
    }
  }
}

/** apiVersion and kind must be those of the URL. Fills them in where a built-in kind may leave them out. */
export function checkType(body: Plain, served: ServedKind, kinds: KindRegistry, bytes: Uint8Array): void {
  checkTypeMeta(body);
  const { kind } = served;
  const apiVersion = body.apiVersion;
  const name = body.kind;
  if (kind.custom) {
    const shown = stringifyJson(body);
    if (typeof name !== 'string' || name === '') {
      throw unrecognized(kind.kind, `Object 'Kind' is missing in '${shown}'`, bytes);
    }
    if (typeof apiVersion !== 'string' || apiVersion === '') {
      throw unrecognized(kind.kind, `Object 'apiVersion' is missing in '${shown}'`, bytes);
    }
    if (apiVersion !== served.apiVersion) {
      throw badRequest(
        `the API version in the data (${apiVersion}) does not match the expected API version (${served.apiVersion})`,
      );
    }
    if (name !== kind.kind) {
      const objectName = isPlain(body.metadata) ? String(body.metadata.name ?? '') : '';
      throw invalid({ group: kind.group, kind: name }, objectName, [
        invalidValue('kind', name, `must be ${kind.kind}`),
      ]);
    }
    return;
  }
  const given = { apiVersion: apiVersion ?? '', kind: name ?? '' };
  if (given.apiVersion === '') given.apiVersion = served.apiVersion;
  if (given.kind === '') given.kind = kind.kind;
  if (given.apiVersion !== served.apiVersion || given.kind !== kind.kind) {
    const version = String(given.apiVersion).split('/').at(-1) ?? '';
    const why = unconvertible(String(given.apiVersion), String(given.kind), served, kinds);
    throw badRequest(`${given.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`);
  }
  body.apiVersion = served.apiVersion;
  body.kind = kind.kind;
}

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
const GO_TYPES: Readonly<Record<string, string>> = { string: 'string', number: 'int64' };

/** Types of the metadata, which are Go's before any schema is asked. */
function checkMeta(body: Plain, { kind }: ServedKind): void {
  const fail = (value: unknown, path: string, type: string): Error => {
    // The unstructured decoder of custom kinds starts at ObjectMeta, the typed one at the object.
    const shown = kind.custom ? path : `metadata.${path}`;
    const why = `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ObjectMeta.${shown} of type ${type}`;
    return new DecodeError(why, { apiVersion: apiVersionOf(kind), kind: kind.kind }, converterComplaint(value, type));
  };
  const meta = body.metadata ?? {};
  if (!isPlain(meta)) {
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: json: cannot unmarshal ${jsonTypeOf(meta)} into Go ${kind.custom ? 'value' : `struct field ${kind.kind}.metadata`} of type v1.ObjectMeta`,
    );
  }
  body.metadata = meta;
  for (const [field, value] of Object.entries(meta)) {
    if (value === null) {
      delete meta[field];
      continue;
    }
    const type = META_TYPES.get(field);
    if (type !== undefined && typeof value !== type) throw fail(value, field, GO_TYPES[type] ?? type);
    if (field === 'labels' || field === 'annotations') {
      if (!isPlain(value)) throw fail(value, field, 'map[string]string');
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
      if (!Array.isArray(value) || !value.every(isPlain)) throw fail(value, field, '[]v1.OwnerReference');
    }
    // A list without entries forgets who owns what, as one with an empty entry does; an absent one does not.
    if (field !== 'managedFields' || !Array.isArray(value) || value.length > 0) continue;
    // Of a custom object nobody can tell the two apart.
    if (kind.custom) delete meta[field];
    else meta[field] = [{}];
  }
}

/** Drops unknown metadata fields and returns their paths. Mutates. */
function pruneMeta(meta: Plain): string[] {
  const unknown = Object.keys(meta).filter((field) => !META_FIELDS.has(field));
  for (const field of unknown) delete meta[field];
  return unknown.map((field) => `metadata.${field}`);
}

/** What strict field validation says of unknown fields. */
export const strictMessage = (unknown: readonly string[]): string =>
  `strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`;

/** Paths in the order in which a reader of the body meets them. Bodies that are no JSON keep the order given. */
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
    if (!isPlain(value)) return;
    for (const [key, item] of Object.entries(value)) visit(item, path === '' ? key : `${path}.${key}`);
  };
  visit(body, '');
  const rank = (path: string): number => ranks.get(path) ?? Number.MAX_SAFE_INTEGER;
  return [...paths].sort((a, b) => rank(a) - rank(b));
}

/** What is told of fields that a JSON body gives twice. `body` is as it was read: it must not have been changed yet. */
function repeatedFields(bytes: Uint8Array, body: Plain): string[] {
  const text = Buffer.from(bytes).toString('utf8');
  // Neither YAML nor protobuf.
  if (!text.trimStart().startsWith('{')) return [];
  return duplicateFields(text, body).map((field) => `duplicate field "${field}"`);
}

/** The body of a built-in kind with what both values of a repeated field say. */
function readTwice(bytes: Uint8Array, given: Plain, { kind }: ServedKind): Plain {
  const merged = parseMerging(Buffer.from(bytes).toString('utf8'), kind.schema);
  return isPlain(merged) ? merged : given;
}

/**
 * Makes an object of a body: type, metadata types, unknown fields (dropped; warned of or refused as asked), defaults.
 * @throws StatusError 400 or 422
 */
export function decodeObject(
  given: Plain,
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
  const unknown = inOrderOf(bytes, normalize(object, served));
  tellProblems([...repeated, ...unknown.map((field) => `unknown field "${field}"`)], served, options, warn);
  return object;
}

/** Refuses or warns of what strict decoding finds, as the request asks for. @throws StatusError 400 */
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

/** The unknown fields of a body that somebody else reads, which is left as it is. */
export function unknownFields(body: Plain, served: ServedKind): string[] {
  return normalize({ ...structuredClone(body), metadata: { ...(body.metadata ?? {}) } } as ApiObject, served);
}

/**
 * Tells of fields of a subresource's body that nobody knows, or that it gives twice. The body is left as it is.
 * @throws StatusError 400
 */
export function checkFields(
  body: Plain,
  bytes: Uint8Array,
  served: ServedKind,
  options: WriteOptions,
  warn: (message: string) => void,
): void {
  if (options.fieldValidation === 'Ignore') return;
  const unknown = inOrderOf(bytes, unknownFields(body, served)).map((field) => `unknown field "${field}"`);
  tellProblems([...repeatedFields(bytes, body), ...unknown], served, options, warn);
}

/** Prunes and defaults an object in place; returns the paths of what was unknown. `applied`: the nulls of a custom object are judged. */
export function normalize(object: ApiObject, served: ServedKind, applied = false): string[] {
  const unknown = pruneMeta(object.metadata as Plain);
  const { schema } = served;
  if (schema !== undefined) {
    unknown.push(...schema.prune(object));
    // Built-in kinds take the form of the server's own types, which have their own mind about nulls.
    if (served.kind.custom || served.kind.group === 'apiextensions.k8s.io')
      schema.setDefaults(object, { keepNulls: applied && served.kind.custom });
  }
  served.kind.setDefaults?.(object);
  return unknown;
}

/** Checks the metadata of what a patch has made. */
export function checkPatched(object: ApiObject, served: ServedKind): void {
  checkMeta(object as Plain, served);
}

export const sameVersion = (object: ApiObject, served: ServedKind): boolean =>
  object.apiVersion === apiVersionOf(served.kind) && object.kind === served.kind.kind;
