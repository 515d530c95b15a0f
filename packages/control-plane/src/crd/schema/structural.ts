import { forbidden, invalid, required } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { validateDefaults } from './default-values.ts';
import { type Fields, record, text } from './fields.ts';
import { validateKeywords } from './keywords.ts';
import { validateComplete, validateValueKeywords } from './nested.ts';
import { childrenOf, isZero, propertiesOf, unreadableWord } from './walk.ts';

type Level = 'root' | 'field' | 'items';

const TYPE_WORDS: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  field: 'must not be empty for specified object fields',
  items: 'must not be empty for specified array items',
};

const NOT_INT_OR_STRING = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'];

function validateType(schema: Fields, path: string, level: Level, causes: StatusCause[]): void {
  const type = text(schema.type);
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    const words = 'must be object if x-kubernetes-embedded-resource is true';
    causes.push(type === '' ? required(`${path}.type`, words) : invalid(`${path}.type`, type, words));
  } else if (type === '' && !intOrString && schema['x-kubernetes-preserve-unknown-fields'] !== true) {
    causes.push(required(`${path}.type`, TYPE_WORDS[level]));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    causes.push(invalid(`${path}.type`, type, 'must be object at the root'));
  }
  for (const word of intOrString ? NOT_INT_OR_STRING : []) {
    if (schema[word] !== true) continue;
    causes.push(invalid(`${path}.${word}`, true, 'must be false if x-kubernetes-int-or-string is true'));
  }
}

/** Returns whether a schema of `metadata` contains only a type, a default, and limits for the name and generateName. */
function isPlainMetadata(metadata: Fields): boolean {
  const names = propertiesOf(metadata).map(([name]) => name);
  if (names.some((name) => name !== 'name' && name !== 'generateName')) return false;
  return Object.entries(metadata).every(
    ([word, value]) => ['type', 'default', 'properties'].includes(word) || isZero(value),
  );
}

/** Validates apiVersion, kind and metadata in the schema of a root object or of an embedded resource. */
function validateMetadata(schema: Fields, path: string, level: Level, causes: StatusCause[]): void {
  const properties = record(schema.properties);
  for (const name of ['kind', 'apiVersion']) {
    const property = own(properties, name);
    if (!isRecord(property) || property.type === 'string') continue;
    causes.push(invalid(`${path}.properties[${name}].type`, text(property.type), 'must be string'));
  }
  const metadata = own(properties, 'metadata');
  if (!isRecord(metadata)) return;
  const at = `${path}.properties[metadata]`;
  if (metadata.type !== 'object') causes.push(invalid(`${at}.type`, text(metadata.type), 'must be object'));
  if (level !== 'root' || isPlainMetadata(metadata)) return;
  const words = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  causes.push(forbidden(at, words));
}

function validateEmbedded(schema: Fields, path: string, causes: StatusCause[]): void {
  if (schema['x-kubernetes-embedded-resource'] !== true) return;
  if ((schema.additionalProperties ?? undefined) !== undefined) {
    const words = 'must not be used if x-kubernetes-embedded-resource is set';
    causes.push(forbidden(`${path}.additionalProperties`, words));
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || propertiesOf(schema).length > 0) return;
  const words =
    'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
  causes.push(required(`${path}.properties`, words));
}

function validateStructure(schema: Fields, path: string, level: Level, causes: StatusCause[]): void {
  validateType(schema, path, level, causes);
  if (schema.type === 'array' && !isRecord(schema.items)) {
    causes.push(required(`${path}.items`, 'must be specified'));
  }
  if (level === 'root' && (schema.additionalProperties ?? undefined) !== undefined) {
    causes.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  }
  validateEmbedded(schema, path, causes);
  if (level === 'root' || schema['x-kubernetes-embedded-resource'] === true) {
    validateMetadata(schema, path, level, causes);
  }
  validateValueKeywords(schema, path, causes);
  for (const child of childrenOf(schema, path)) validateStructure(child.schema, child.path, child.level, causes);
}

function structuralCauses(schema: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  validateStructure(schema, path, 'root', causes);
  validateComplete(schema, schema, { structure: path, nested: path }, causes);
  const textOf = (cause: StatusCause): string => `${cause.field}: ${cause.message}`;
  return causes.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

export interface SchemaCauses {
  /** Whether the schema is structural and its defaults are valid. */
  readonly isStructural: boolean;
  readonly structure: readonly StatusCause[];
  readonly words: readonly StatusCause[];
}

/** Defaults are validated only if the schema is structural. */
export function validateSchema(schema: Fields, path: string): SchemaCauses {
  const words = validateKeywords(schema, path);
  const unreadable = unreadableWord(schema);
  if (unreadable !== undefined) {
    // Another check reports this error for all keywords except `$schema`.
    const why = invalid(path, '', `OpenAPIV3Schema '${unreadable}' is not supported`);
    return { isStructural: false, structure: words.length === 0 ? [why] : [], words };
  }
  const structural = structuralCauses(schema, path);
  if (structural.length > 0) return { isStructural: false, structure: structural, words };
  const structure = validateDefaults(schema, path);
  return { isStructural: structure.length === 0, structure, words };
}
