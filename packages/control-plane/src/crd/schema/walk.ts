import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { type Fields, record, text } from './fields.ts';

/** The server does not validate schemas below this depth, because the recursion would need too much stack. */
export const MAX_DEPTH = 1000;

export interface Place {
  readonly schema: Fields;
  readonly path: string;
}

export interface Child extends Place {
  readonly level: 'field' | 'items';
}

export const propertiesOf = (schema: Fields): [name: string, property: Fields][] =>
  Object.entries(record(schema.properties)).map(([name, property]) => [name, record(property)]);

export function childrenOf(schema: Fields, path: string): Child[] {
  const children: Child[] = propertiesOf(schema).map(([name, property]) => ({
    schema: property,
    path: `${path}.properties[${name}]`,
    level: 'field',
  }));
  if (isRecord(schema.additionalProperties)) {
    children.push({ schema: schema.additionalProperties, path: `${path}.additionalProperties`, level: 'field' });
  }
  if (isRecord(schema.items)) children.push({ schema: schema.items, path: `${path}.items`, level: 'items' });
  return children;
}

/** Returns the child schemas in allOf, anyOf, oneOf and not. */
export function junctorsOf(schema: Fields, path: string): Place[] {
  const found: Place[] = [];
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

/** Limits are pointers in Go, so a limit of 0 is not a zero value. */
export const isZero = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0);

const isFull = (value: unknown): boolean => isRecord(value) && Object.keys(value).length > 0;

/** Returns the keyword because of which a schema or a child schema cannot become a structural schema. */
export function unreadableWord(schema: Fields, depth = 0): string | undefined {
  if (depth > MAX_DEPTH) return 'depth';
  if (text(schema.id) !== '') return 'id';
  if (text(schema.$schema) !== '') return 'schema';
  if (text(schema.$ref) !== '') return '$ref';
  for (const word of ['patternProperties', 'dependencies']) if (isFull(schema[word])) return word;
  if (!(schema.additionalItems === undefined || schema.additionalItems === null)) return 'additionalItems';
  if (isFull(schema.definitions)) return 'definitions';
  for (const below of junctorsOf(schema, '')) {
    const word = unreadableWord(below.schema, depth + 1);
    if (word !== undefined) return word;
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) return 'x-kubernetes-preserve-unknown-fields';
  if (Array.isArray(schema.items) && schema.items.length > 0) return 'items';
  for (const below of childrenOf(schema, '')) {
    const word = unreadableWord(below.schema, depth + 1);
    if (word !== undefined) return word;
  }
  return undefined;
}
