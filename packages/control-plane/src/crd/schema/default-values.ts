import { invalid, NO_FIELD } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { nodeOf, type SchemaNode } from '../../schema/model/node.ts';
import { pruneValue } from '../../schema/prune.ts';
import { validateRules } from '../../schema/rules.ts';
import { validateValue } from '../../schema/validate.ts';
import { decodingCause, embeddedResourceCauses } from './embedded-resource.ts';
import { type Fields, record } from './fields.ts';

/** Evaluates the CEL rules of a default value twice: as for a new object, and as for an update without a change. */
function ruleCauses(value: unknown, node: SchemaNode, isResource: boolean): StatusCause[] {
  const fresh = validateRules(value, undefined, node, undefined, isResource);
  const kept = validateRules(value, value, node, undefined, isResource);
  const isReported = (cause: StatusCause): boolean =>
    fresh.some(({ field, message }) => field === cause.field && message === cause.message);
  return [...fresh, ...kept.filter((cause) => !isReported(cause))];
}

/** Calls `visit` for each embedded resource in a value. */
function visitResources(
  value: unknown,
  node: SchemaNode,
  { path, isResource }: { readonly path: string; readonly isResource: boolean },
  visit: (resource: Fields, path: string) => void,
): void {
  const below = (inner: unknown, schema: SchemaNode, at: string): void =>
    visitResources(inner, schema, { path: at, isResource: schema.embedded }, visit);
  if (Array.isArray(value)) {
    const { items } = node;
    if (items !== undefined) for (const [at, item] of value.entries()) below(item, items, `${path}[${at}]`);
    return;
  }
  if (!isRecord(value)) return;
  if (isResource) visit(value, path);
  for (const [key, inner] of Object.entries(value)) {
    const property = node.properties.get(key);
    if (property !== undefined) below(inner, property, path === '' ? key : `${path}.${key}`);
    else if (node.additional !== undefined) below(inner, node.additional, `${path}[${key}]`);
  }
}

/**
 * If Go cannot decode one of the resources, returns the error about the first such resource. If Go can decode all
 * resources, returns all errors in their types and metadata.
 */
function resourceCauses(value: unknown, node: SchemaNode, path: string, isResource: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  let undecoded: StatusCause | undefined;
  visitResources(value, node, { path, isResource }, (resource, at) => {
    undecoded ??= decodingCause(resource, at);
    causes.push(...embeddedResourceCauses(resource, at));
  });
  return undecoded === undefined ? causes : [undecoded];
}

/** The position of a schema below the nearest resource, which is the whole object or an embedded resource. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  readonly resource: SchemaNode;
  /** Whether the position is in the type or metadata of the resource. */
  readonly isMeta: boolean;
  /** Returns a resource that has a value at the position. */
  readonly around: (value: unknown) => Fields;
}

const TYPE = { apiVersion: 'validation/v1', kind: 'Validation' } as const;
const asResource = (value: unknown): Fields => ({ ...TYPE, ...record(value) });

function metaDefaultCauses(value: unknown, { path, resource, around }: Place): StatusCause[] {
  const causes = resourceCauses(around(value), resource, '', true);
  if (causes.length === 0) return [];
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const why = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return [invalid(`${path}.default`, value, `must result in valid metadata: ${why}`)];
}

/**
 * Removes `x-kubernetes-int-or-string` from a schema. kube-apiserver does not verify the types of such fields in default
 * values.
 */
function withoutIntOrString(schema: Fields): Fields {
  const { 'x-kubernetes-int-or-string': _, ...rest } = schema;
  const { items, properties, additionalProperties } = rest;
  if (isRecord(items)) rest['items'] = withoutIntOrString(items);
  if (isRecord(additionalProperties)) rest['additionalProperties'] = withoutIntOrString(additionalProperties);
  if (isRecord(properties)) {
    const each = Object.entries(properties).map(([name, property]) => [name, withoutIntOrString(record(property))]);
    rest['properties'] = Object.fromEntries(each);
  }
  return rest;
}

function validateDefault(schema: Fields, place: Place): StatusCause[] {
  const value = schema.default;
  if (value === undefined || value === null) return [];
  const node = nodeOf(schema as JsonSchema);
  const field = `${place.path}.default`;
  const isResource = place.isRoot || node.embedded;
  const causes: StatusCause[] = [];
  if (!place.isMeta) {
    const found: string[] = [];
    pruneValue(value, node, { path: '', resource: isResource, keep: true, found });
    if (found.length > 0) causes.push(invalid(field, value, 'must not have unknown fields'));
  }
  const meta = place.isMeta ? metaDefaultCauses(value, place) : resourceCauses(value, node, field, isResource);
  if (meta.length > 0) return [...causes, ...meta];
  const at = ({ field: below = '' }: StatusCause, indexJoint: string): string => {
    if (below === '' || below === NO_FIELD) return field;
    return `${field}${below.startsWith('[') ? indexJoint : '.'}${below}`;
  };
  // As in kube-apiserver, the path of an invalid list item contains a dot before the index.
  const types = nodeOf(withoutIntOrString(schema) as JsonSchema);
  const typed = validateValue(value, types).map((cause) => ({ ...cause, field: at(cause, '.') }));
  if (typed.length > 0) return [...causes, ...typed];
  return [...causes, ...ruleCauses(value, node, isResource).map((cause) => ({ ...cause, field: at(cause, '') }))];
}

const META_FIELDS = ['metadata', 'apiVersion', 'kind'];

function validateBelow(schema: Fields, place: Place): StatusCause[] {
  const node = nodeOf(schema as JsonSchema);
  const isResource = place.isRoot || node.embedded;
  const here: Place = isResource ? { ...place, resource: node, isMeta: false, around: asResource } : place;
  const causes = validateDefault(schema, here);
  const { path, around } = here;
  const below: Place = { ...here, isRoot: false };
  if (isRecord(schema.items)) {
    const items = { ...below, path: `${path}.items`, around: (value: unknown) => around([value]) };
    causes.push(...validateBelow(schema.items, items));
  }
  for (const [name, property] of Object.entries(record(schema.properties))) {
    causes.push(
      ...validateBelow(record(property), {
        ...below,
        path: `${path}.properties[${name}]`,
        isMeta: here.isMeta || (isResource && META_FIELDS.includes(name)),
        around: (value) => around({ [name]: value }),
      }),
    );
  }
  return causes;
}

/**
 * Validates the defaults in a schema. A default must have valid fields, types and metadata, and must meet the CEL
 * rules.
 * @see k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go
 */
export const validateDefaults = (schema: Fields, path: string): StatusCause[] =>
  validateBelow(schema, {
    path,
    isRoot: true,
    resource: nodeOf(schema as JsonSchema),
    isMeta: false,
    around: asResource,
  });
