import { invalid, NO_FIELD } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { nodeOf, type SchemaNode } from '../../schema/model/node.ts';
import { pruneValue } from '../../schema/prune.ts';
import { validateRules } from '../../schema/rules.ts';
import { validateValue } from '../../schema/validate.ts';
import { embeddedTypeCauses } from './embedded-type.ts';
import { type Fields, record } from './fields.ts';

/**
 * Evaluates the CEL rules of a default value, as if an object with the value were created, and then updated without a
 * change. An error in both evaluations is reported once.
 */
function ruleCauses(value: unknown, node: SchemaNode, isResource: boolean): StatusCause[] {
  const fresh = validateRules(value, undefined, node, undefined, isResource);
  const kept = validateRules(value, value, node, undefined, isResource);
  const isReported = (cause: StatusCause): boolean =>
    fresh.some(({ field, message }) => field === cause.field && message === cause.message);
  return [...fresh, ...kept.filter((cause) => !isReported(cause))];
}

function embeddedCauses(value: unknown, node: SchemaNode, path: string): StatusCause[] {
  if (Array.isArray(value)) {
    const { items } = node;
    return items === undefined ? [] : value.flatMap((item, at) => embeddedCauses(item, items, `${path}[${at}]`));
  }
  if (!isRecord(value)) return [];
  const below = Object.entries(value).flatMap(([key, inner]) => {
    const property = node.properties.get(key);
    if (property !== undefined) return embeddedCauses(inner, property, `${path}.${key}`);
    return node.additional === undefined ? [] : embeddedCauses(inner, node.additional, `${path}[${key}]`);
  });
  return node.embedded ? [...embeddedTypeCauses(value, path), ...below] : below;
}

function validateDefault(schema: Fields, path: string, isRoot: boolean): StatusCause[] {
  const value = schema.default;
  if (value === undefined || value === null) return [];
  const node = nodeOf(schema as JsonSchema);
  const field = `${path}.default`;
  const isResource = isRoot || node.embedded;
  const found: string[] = [];
  pruneValue(value, node, { path: '', resource: isResource, keep: true, found });
  const causes = found.length > 0 ? [invalid(field, value, 'must not have unknown fields')] : [];
  const embedded = embeddedCauses(value, node, field);
  if (embedded.length > 0) return [...causes, ...embedded];
  const at = ({ field: below = '' }: StatusCause, indexJoint: string): string => {
    if (below === '' || below === NO_FIELD) return field;
    return `${field}${below.startsWith('[') ? indexJoint : '.'}${below}`;
  };
  // As in kube-apiserver, the path of an invalid list item has a dot before the index.
  const typed = validateValue(value, node).map((cause) => ({ ...cause, field: at(cause, '.') }));
  if (typed.length > 0) return [...causes, ...typed];
  return [...causes, ...ruleCauses(value, node, isResource).map((cause) => ({ ...cause, field: at(cause, '') }))];
}

/**
 * A default must have no unknown fields, wrong types, or violations of CEL rules.
 * @see k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go
 */
export function validateDefaults(schema: Fields, path: string, isRoot = true): StatusCause[] {
  const causes = validateDefault(schema, path, isRoot);
  if (isRecord(schema.items)) causes.push(...validateDefaults(schema.items, `${path}.items`, false));
  for (const [name, property] of Object.entries(record(schema.properties))) {
    causes.push(...validateDefaults(record(property), `${path}.properties[${name}]`, false));
  }
  return causes;
}
