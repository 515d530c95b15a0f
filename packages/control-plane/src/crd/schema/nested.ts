import { forbidden, invalid, required } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { RegExpError, readRegExp } from '../../schema/model/regexp.ts';
import { type Fields, record, text } from './fields.ts';
import { isZero, junctorsOf, propertiesOf } from './walk.ts';

const STRUCTURE_ONLY: readonly (readonly [word: string, detail: string])[] = [
  ['type', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

/** The fields that are pointers in Go. In a pointer field, an empty string differs from an absent value. */
const POINTERS = new Set(['default', 'x-kubernetes-list-type', 'x-kubernetes-map-type']);

const isSet = (schema: Fields, word: string): boolean =>
  POINTERS.has(word) ? (schema[word] ?? undefined) !== undefined : !isZero(schema[word]);

function isOnlyType(entry: unknown, type: string): boolean {
  return (
    isRecord(entry) &&
    Object.entries(entry).every(([word, value]) => isZero(value) || (word === 'type' && value === type)) &&
    entry.type === type
  );
}

/** Returns whether the list is `[{type: integer}, {type: string}]`, which describes an integer or a string. */
const isIntOrString = (anyOf: unknown): boolean =>
  Array.isArray(anyOf) && anyOf.length === 2 && isOnlyType(anyOf[0], 'integer') && isOnlyType(anyOf[1], 'string');

interface Skipped {
  readonly anyOf: boolean;
  readonly firstAllOf: boolean;
}

const NOTHING: Skipped = { anyOf: false, firstAllOf: false };

function validateValues(schema: Fields, path: string, skipped: Skipped, causes: StatusCause[]): void {
  for (const { schema: inner, path: at } of junctorsOf(schema, path)) {
    if (skipped.anyOf && at.startsWith(`${path}.anyOf[`)) continue;
    const isFirst = skipped.firstAllOf && at === `${path}.allOf[0]`;
    validateNested(inner, at, isFirst ? { anyOf: true, firstAllOf: false } : NOTHING, causes);
  }
  const pattern = text(schema.pattern);
  if (pattern === '') return;
  const read = readRegExp(pattern);
  if (!(read instanceof RegExpError)) return;
  const why = `must be a valid regular expression, but isn't: ${read.message}`;
  causes.push(invalid(`${path}.pattern`, pattern, why));
}

/** Validates a schema in allOf, anyOf, oneOf or not. */
function validateNested(schema: Fields, path: string, skipped: Skipped, causes: StatusCause[]): void {
  validateValues(schema, path, skipped, causes);
  if (isRecord(schema.items)) validateNested(schema.items, `${path}.items`, NOTHING, causes);
  for (const [name, property] of propertiesOf(schema)) {
    validateNested(property, `${path}.properties[${name}]`, NOTHING, causes);
    if (name !== 'metadata') continue;
    causes.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  }
  if (!isZero(schema.additionalProperties)) {
    causes.push(forbidden(`${path}.additionalProperties`, 'must be undefined to be structural'));
  }
  for (const [word, detail] of STRUCTURE_ONLY) {
    if (isSet(schema, word)) causes.push(forbidden(`${path}.${word}`, detail));
  }
}

/** Validates the keywords `pattern`, `allOf`, `anyOf`, `oneOf` and `not`. */
export function validateValueKeywords(schema: Fields, path: string, causes: StatusCause[]): void {
  const first = Array.isArray(schema.allOf) ? record(schema.allOf[0]) : {};
  validateValues(schema, path, { anyOf: isIntOrString(schema.anyOf), firstAllOf: isIntOrString(first.anyOf) }, causes);
}

interface Paths {
  readonly structure: string;
  readonly nested: string;
}

function validateCounterpart(nested: Fields, structure: unknown, paths: Paths, causes: StatusCause[]): void {
  if (!isRecord(structure)) {
    causes.push(required(paths.structure, `because it is defined in ${paths.nested}`));
    return;
  }
  validateComplete(nested, structure, paths, causes);
  const below = (part: string): Paths => ({ structure: paths.structure + part, nested: paths.nested + part });
  if (isRecord(nested.items)) validateCounterpart(nested.items, structure.items, below('.items'), causes);
  for (const [name, property] of propertiesOf(nested)) {
    const part = `.properties[${name}]`;
    validateCounterpart(property, own(record(structure.properties), name), below(part), causes);
  }
}

/**
 * Validates fields and list items inside of `allOf`, `anyOf`, `oneOf` and `not`. Each of them must also exist outside
 * of these keywords.
 */
export function validateComplete(schema: Fields, structure: Fields, paths: Paths, causes: StatusCause[]): void {
  for (const { schema: inner, path } of junctorsOf(schema, paths.nested)) {
    validateCounterpart(inner, structure, { structure: paths.structure, nested: path }, causes);
  }
}
