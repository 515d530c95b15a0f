import { forbidden, invalid, notSupported } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { type Fields, record, text } from './fields.ts';
import { validateListKeywords, wantType } from './list-keywords.ts';
import { junctorsOf, MAX_DEPTH, type Place, propertiesOf } from './walk.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const META_FIELDS = ['apiVersion', 'kind', 'metadata'];

interface Context {
  readonly isRoot: boolean;
  readonly insideMeta: boolean;
  /** The reason why the schema must not contain a default. */
  readonly noDefault: string | undefined;
}

const isEmptyRecord = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;

const isThere = (schema: Fields, word: string): boolean => (schema[word] ?? undefined) !== undefined;

function validateUnsupported(schema: Fields, path: string, causes: StatusCause[]): void {
  const forbid = (word: string, isForbidden: boolean): void => {
    if (isForbidden) causes.push(forbidden(`${path}.${word}`, `${word} is not supported`));
  };
  forbid('id', text(schema.id) !== '');
  forbid('additionalItems', isThere(schema, 'additionalItems'));
  for (const word of ['patternProperties', 'definitions']) {
    forbid(word, isThere(schema, word) && !isEmptyRecord(schema[word]));
  }
  forbid('dependencies', isThere(schema, 'dependencies'));
  forbid('$ref', isThere(schema, '$ref'));
}

function validateStandard(schema: Fields, path: string, context: Context, causes: StatusCause[]): void {
  const type = text(schema.type);
  if (type !== '' && !TYPES.includes(type)) causes.push(notSupported(`${path}.type`, type, TYPES));
  if (context.noDefault !== undefined && isThere(schema, 'default')) {
    causes.push(forbidden(`${path}.default`, `must not be set ${context.noDefault}`));
  }
  validateUnsupported(schema, path, causes);
  if (type === 'null') {
    causes.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (Array.isArray(schema.items) && schema.items.length > 0) {
    causes.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (context.insideMeta && schema['x-kubernetes-embedded-resource'] === true) {
    causes.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
  if (schema.uniqueItems !== true) return;
  const words = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
  causes.push(forbidden(`${path}.uniqueItems`, words));
}

/** Validates the `x-kubernetes-*` extensions of a schema. */
function validateExtensions(schema: Fields, path: string, causes: StatusCause[]): void {
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  const mapType = schema['x-kubernetes-map-type'] ?? undefined;
  if (mapType !== undefined) {
    causes.push(...wantType(text(schema.type), 'object', path, 'x-kubernetes-map-type is specified'));
    if (mapType !== 'atomic' && mapType !== 'granular') {
      causes.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
    }
  }
  causes.push(...validateListKeywords(schema, path));
}

function propertyContext(schema: Fields, name: string, context: Context): Context {
  const isResource = context.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  if (!isResource || !META_FIELDS.includes(name)) return { ...context, isRoot: false };
  return { isRoot: false, insideMeta: true, noDefault: context.isRoot ? `in top-level ${name}` : context.noDefault };
}

/** Returns the child schemas under keywords that the server does not support. */
function unsupportedOf(schema: Fields, path: string): Place[] {
  const found: Place[] = [];
  for (const word of ['definitions', 'dependencies']) {
    for (const [name, inner] of Object.entries(record(schema[word]))) {
      if (isRecord(inner)) found.push({ schema: inner, path: `${path}.${word}[${name}]` });
    }
  }
  for (const [at, item] of (Array.isArray(schema.items) ? schema.items : []).entries()) {
    if (isRecord(item)) found.push({ schema: item, path: `${path}.items[${at}]` });
  }
  return found;
}

/** The path of the schema that caused each error. */
const levels = new WeakMap<StatusCause, string>();

export const levelOf = (cause: StatusCause): string => levels.get(cause) ?? cause.field ?? '';

function validate(schema: Fields, path: string, context: Context, causes: StatusCause[], depth: number): void {
  if (depth > MAX_DEPTH) {
    causes.push(invalid(path, '', 'schema is nested too deep'));
    return;
  }
  validateStandard(schema, path, context, causes);
  const below: Context = { ...context, isRoot: false };
  const visit = (child: unknown, at: string, inside = below): void => {
    if (isRecord(child)) validate(child, at, inside, causes, depth + 1);
  };
  const values = schema.additionalProperties ?? undefined;
  if (values !== undefined) {
    if (values !== true && propertiesOf(schema).length > 0) {
      const words = 'additionalProperties and properties are mutual exclusive';
      causes.push(forbidden(`${path}.additionalProperties`, words));
    }
    const noDefault = 'inside additionalProperties applying to object metadata';
    visit(values, `${path}.additionalProperties`, context.insideMeta ? { ...below, noDefault } : below);
  }
  for (const [name, property] of propertiesOf(schema)) {
    visit(property, `${path}.properties[${name}]`, propertyContext(schema, name, context));
  }
  visit(schema.items, `${path}.items`);
  for (const place of [...junctorsOf(schema, path), ...unsupportedOf(schema, path)]) visit(place.schema, place.path);
  const own: StatusCause[] = [];
  validateExtensions(schema, path, own);
  for (const cause of own) levels.set(cause, path);
  causes.push(...own);
}

/** Validates the JSON schema keywords that kube-apiserver supports. */
export function validateKeywords(schema: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  validate(schema, path, { isRoot: true, insideMeta: false, noDefault: undefined }, causes, 0);
  return causes;
}
