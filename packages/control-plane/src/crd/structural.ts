import { forbidden, invalid, notSupported, required } from '../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { RegExpError, readRegExp } from '../schema/model/regexp.ts';
import { validateDefaults } from './default-values.ts';
import { type Fields, record, text, texts } from './fields.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const UNSUPPORTED = ['definitions', 'dependencies', 'patternProperties', 'additionalItems'];
/** Keywords that may have an empty value in a schema. */
const EMPTY_IS_FINE = ['definitions', 'patternProperties'];
const isThere = (schema: Fields, word: string): boolean => {
  const value = schema[word] ?? undefined;
  const isEmpty = isRecord(value) && Object.keys(value).length === 0;
  return value !== undefined && !(isEmpty && EMPTY_IS_FINE.includes(word));
};
const MAX_DEPTH = 1000;

interface Child {
  readonly schema: Fields;
  readonly path: string;
  readonly level: 'field' | 'items';
}

/** Returns the child schemas in the structural part: properties, additionalProperties and items. */
export function childrenOf(schema: Fields, path: string): Child[] {
  const children: Child[] = [];
  for (const [name, property] of Object.entries(record(schema.properties))) {
    children.push({ schema: record(property), path: `${path}.properties[${name}]`, level: 'field' });
  }
  if (isRecord(schema.additionalProperties)) {
    children.push({ schema: schema.additionalProperties, path: `${path}.additionalProperties`, level: 'field' });
  }
  if (isRecord(schema.items)) children.push({ schema: schema.items, path: `${path}.items`, level: 'items' });
  return children;
}

/**
 * Returns the child schemas under keywords that the server does not support. The validation also reports errors in
 * these schemas.
 */
function unsupportedOf(schema: Fields, path: string): { schema: Fields; path: string }[] {
  const found: { schema: Fields; path: string }[] = [];
  for (const word of ['definitions', 'dependencies']) {
    for (const [name, inner] of Object.entries(record(schema[word]))) {
      if (isRecord(inner)) found.push({ schema: inner, path: `${path}.${word}[${name}]` });
    }
  }
  if (Array.isArray(schema.items)) {
    for (const [at, item] of schema.items.entries()) {
      if (isRecord(item)) found.push({ schema: item, path: `${path}.items[${at}]` });
    }
  }
  return found;
}

/** Returns the child schemas in allOf, anyOf, oneOf and not. */
function junctorsOf(schema: Fields, path: string): { schema: Fields; path: string }[] {
  const found: { schema: Fields; path: string }[] = [];
  for (const word of ['allOf', 'anyOf', 'oneOf']) {
    const list = schema[word];
    if (!Array.isArray(list)) continue;
    list.forEach((entry, at) => {
      found.push({ schema: record(entry), path: `${path}.${word}[${at}]` });
    });
  }
  if (isRecord(schema.not)) found.push({ schema: schema.not, path: `${path}.not` });
  return found;
}

/** Validates the JSON schema keywords that kube-apiserver supports. The schema may be structural or not. */
function validateWords(schema: Fields, path: string, causes: StatusCause[], depth = 0): void {
  if (depth > MAX_DEPTH) {
    causes.push(invalid(path, '', 'schema is nested too deep'));
    return;
  }
  if (schema.uniqueItems === true) {
    causes.push(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
  const additional = schema.additionalProperties;
  if (additional !== undefined && additional !== true && Object.keys(record(schema.properties)).length > 0) {
    causes.push(forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'));
  }
  if (Array.isArray(schema.items)) {
    causes.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (schema.$ref !== undefined) causes.push(forbidden(`${path}.$ref`, '$ref is not supported'));
  if (text(schema.id) !== '') causes.push(forbidden(`${path}.id`, 'id is not supported'));
  for (const word of UNSUPPORTED) {
    if (isThere(schema, word)) causes.push(forbidden(`${path}.${word}`, `${word} is not supported`));
  }
  const type = text(schema.type);
  if (type !== '' && !TYPES.includes(type)) {
    causes.push(
      type === 'null'
        ? forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative')
        : notSupported(`${path}.type`, type, TYPES),
    );
  }
  validateExtensions(schema, path, causes);
  for (const child of [...childrenOf(schema, path), ...junctorsOf(schema, path), ...unsupportedOf(schema, path)]) {
    validateWords(child.schema, child.path, causes, depth + 1);
  }
}

const TYPE_WORDS = {
  root: 'must not be empty at the root',
  field: 'must not be empty for specified object fields',
  items: 'must not be empty for specified array items',
};

const ITEM_WORDS = 'must be atomic as item of a list with x-kubernetes-list-type=set';

/** Returns the error for a missing or wrong type, if an extension requires a type. */
function wantType(type: string, wanted: string, path: string, extension: string): StatusCause[] {
  if (type === wanted) return [];
  const words = `must be ${wanted} if ${extension}`;
  return [type === '' ? required(`${path}.type`, words) : invalid(`${path}.type`, type, words)];
}

/** Validates the extensions of a schema. The schema may be structural or not. */
function validateExtensions(schema: Fields, path: string, causes: StatusCause[]): void {
  const type = text(schema.type);
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType !== undefined) {
    causes.push(...wantType(type, 'object', path, 'x-kubernetes-map-type is specified'));
    if (mapType !== 'atomic' && mapType !== 'granular') {
      causes.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
    }
  }
  const listType = schema['x-kubernetes-list-type'];
  const keys = texts(schema['x-kubernetes-list-map-keys']);
  const at = `${path}.x-kubernetes-list-type`;
  if (listType !== undefined) {
    causes.push(...wantType(type, 'array', path, 'x-kubernetes-list-type is specified'));
    if (listType === 'map') validateListMap(schema, path, keys, causes);
    else if (listType === 'set') validateSet(schema, path, causes);
    else if (listType !== 'atomic') causes.push(notSupported(at, listType, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && listType !== 'map') {
    const words = 'must be map if x-kubernetes-list-map-keys is non-empty';
    causes.push(listType === undefined ? required(at, words) : invalid(at, listType, words));
  }
}

function validateEmbedded(schema: Fields, path: string, causes: StatusCause[]): void {
  if (schema['x-kubernetes-embedded-resource'] !== true) return;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  causes.push(...wantType(text(schema.type), 'object', path, 'x-kubernetes-embedded-resource is true'));
  if (!preserves && Object.keys(record(schema.properties)).length === 0) {
    const words =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    causes.push(required(`${path}.properties`, words));
  }
}

function validateListMap(schema: Fields, path: string, keys: readonly string[], causes: StatusCause[]): void {
  if (keys.length === 0) {
    causes.push(required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
  }
  if (schema.items === undefined) {
    causes.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
    return;
  }
  if (Array.isArray(schema.items)) {
    const words = 'must only have a single schema if x-kubernetes-list-type is map';
    causes.push(invalid(`${path}.items`, schema.items, words));
    return;
  }
  const items = record(schema.items);
  if (text(items.type) !== 'object') {
    causes.push(
      invalid(`${path}.items.type`, text(items.type), "must be object if parent array's x-kubernetes-list-type is map"),
    );
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = own(record(items.properties), key);
    const at = `${path}.x-kubernetes-list-map-keys`;
    if (!isRecord(property)) {
      causes.push(invalid(at, keys, 'entries must all be names of item properties'));
      continue;
    }
    if (seen.has(key)) causes.push(invalid(at, keys, 'must not contain duplicate entries'));
    seen.add(key);
    const field = `${path}.items.properties[${key}]`;
    if (property.type === 'array' || property.type === 'object') {
      causes.push(
        invalid(`${field}.type`, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"),
      );
    }
    if (!texts(items.required).includes(key) && property.default === undefined) {
      causes.push(
        required(
          `${field}.default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
    }
    if (property.nullable === true) {
      causes.push(
        forbidden(`${field}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'),
      );
    }
  }
}

function validateSet(schema: Fields, path: string, causes: StatusCause[]): void {
  const items = record(schema.items);
  const listType = items['x-kubernetes-list-type'];
  if (items.nullable === true)
    causes.push(forbidden(`${path}.items.nullable`, 'cannot be nullable when x-kubernetes-list-type is set'));
  if (text(schema.type) !== 'array') return;
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    // In this error, the real server also prints the type of the list.
    causes.push(invalid(`${path}.items.x-kubernetes-map-type`, listType ?? null, ITEM_WORDS));
  }
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    causes.push(invalid(`${path}.items.x-kubernetes-list-type`, listType, ITEM_WORDS));
  }
}

/** Keywords that are forbidden in allOf, anyOf, oneOf and not. The structural part may contain them. */
const VALUE_ONLY = ['type', 'default', 'nullable', 'additionalProperties', 'title', 'description'];

function validateJunctor(schema: Fields, path: string, structure: Fields, causes: StatusCause[]): void {
  const intOrString = structure['x-kubernetes-int-or-string'] === true;
  for (const word of VALUE_ONLY) {
    if (schema[word] === undefined) continue;
    if (word === 'type' && intOrString && (schema[word] === 'integer' || schema[word] === 'string')) continue;
    causes.push(forbidden(`${path}.${word}`, 'must be empty to be structural'));
  }
  for (const word of Object.keys(schema)) {
    if (word.startsWith('x-kubernetes-') && word !== 'x-kubernetes-validations') {
      causes.push(forbidden(`${path}.${word}`, 'must be undefined to be structural'));
    }
  }
  validatePattern(schema, path, causes);
  const properties = record(structure.properties);
  for (const [name, property] of Object.entries(record(schema.properties))) {
    const below = `${path}.properties[${name}]`;
    const counterpart = properties[name];
    if (isRecord(counterpart)) validateJunctor(record(property), below, counterpart, causes);
    else if (structure.additionalProperties === undefined) {
      causes.push(
        required(below.replace(/\.(?:(?:allOf|anyOf|oneOf)\[\d+\]|not)/g, ''), `because it is defined in ${below}`),
      );
    }
  }
  if (isRecord(schema.items)) validateJunctor(schema.items, `${path}.items`, record(structure.items), causes);
  for (const inner of junctorsOf(schema, path)) validateJunctor(inner.schema, inner.path, structure, causes);
}

function validatePattern(schema: Fields, path: string, causes: StatusCause[]): void {
  const pattern = text(schema.pattern);
  if (pattern === '') return;
  const read = readRegExp(pattern);
  if (!(read instanceof RegExpError)) return;
  const why = `must be a valid regular expression, but isn't: ${read.message}`;
  causes.push(invalid(`${path}.pattern`, pattern, why));
}

/** Extensions that exclude int-or-string. */
const NOT_INT_OR_STRING = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'];
const INT_OR_STRING_WORDS = 'must be false if x-kubernetes-int-or-string is true';

function validateStructure(
  schema: Fields,
  path: string,
  level: 'root' | 'field' | 'items',
  causes: StatusCause[],
): void {
  const type = text(schema.type);
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (type === '' && !intOrString && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
    causes.push(required(`${path}.type`, TYPE_WORDS[level]));
  }
  for (const word of intOrString ? NOT_INT_OR_STRING : []) {
    if (schema[word] === true) causes.push(invalid(`${path}.${word}`, true, INT_OR_STRING_WORDS));
  }
  if (level === 'root' && schema.additionalProperties !== undefined) {
    causes.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    causes.push(invalid(`${path}.type`, type, 'must be object at the root'));
  }
  if (type === 'array' && schema.items === undefined) {
    causes.push(required(`${path}.items`, 'must be specified'));
  }
  validatePattern(schema, path, causes);
  validateEmbedded(schema, path, causes);
  if (level === 'root' || schema['x-kubernetes-embedded-resource'] === true) validateMetadata(schema, path, causes);
  for (const { schema: junctor, path: at } of junctorsOf(schema, path)) validateJunctor(junctor, at, schema, causes);
  for (const child of childrenOf(schema, path)) validateStructure(child.schema, child.path, child.level, causes);
}

const PLAIN_META = new Set(['type', 'description', 'properties']);

function validateMetadata(schema: Fields, path: string, causes: StatusCause[]): void {
  const metadata = record(schema.properties).metadata;
  if (!isRecord(metadata)) return;
  const names = Object.keys(record(metadata.properties));
  const plain = Object.keys(metadata).every((word) => PLAIN_META.has(word));
  if (plain && names.every((name) => name === 'name' || name === 'generateName')) return;
  causes.push(
    forbidden(
      `${path}.properties[metadata]`,
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    ),
  );
}

const UNREADABLE = ['id', '$schema', '$ref', ...UNSUPPORTED];

/**
 * Whether the server cannot convert the schema or a child to a structural schema. In this case, structural errors are
 * not reported.
 */
function isUnreadable(schema: Fields, depth = 0): boolean {
  if (depth > MAX_DEPTH || Array.isArray(schema.items)) return true;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) return true;
  if (UNREADABLE.some((word) => isThere(schema, word))) return true;
  return [...childrenOf(schema, ''), ...junctorsOf(schema, '')].some((below) => isUnreadable(below.schema, depth + 1));
}

function structuralCauses(schema: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  if (isUnreadable(schema)) return causes;
  validateStructure(schema, path, 'root', causes);
  const textOf = (cause: StatusCause): string => `${cause.field}: ${cause.message}`;
  return causes.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

/** The errors of a schema, except the errors of its CEL rules. */
export interface SchemaCauses {
  /** True if the structure and the defaults are valid. */
  readonly isStructural: boolean;
  readonly structure: readonly StatusCause[];
  /** The errors of keywords and extensions. */
  readonly words: readonly StatusCause[];
}

/**
 * Validates a schema: its structure, its keywords and its extensions. The defaults of a structural schema are also
 * validated.
 */
export function validateSchema(schema: Fields, path: string): SchemaCauses {
  const words: StatusCause[] = [];
  validateWords(schema, path, words);
  const structural = structuralCauses(schema, path);
  if (structural.length > 0 || isUnreadable(schema)) return { isStructural: false, structure: structural, words };
  const structure = validateDefaults(schema, path);
  return { isStructural: structure.length === 0, structure, words };
}
