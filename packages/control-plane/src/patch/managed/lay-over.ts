import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { nodeOf, type SchemaNode } from '../../schema/model/node.ts';
import { AppliedReader } from './appliedSet.ts';
import { fieldType, shapeOf } from './fields/types.ts';
import { mergeValues } from './merge.ts';
import { scopeOf } from './update.ts';

const rootOf = ({ schema }: KindDefinition): SchemaNode | undefined =>
  schema === undefined ? undefined : nodeOf(schema);

/** Returns the atomic values in an object. The server can replace an atomic list, map or structure only as a whole. */
function atomics(value: unknown, node: SchemaNode | undefined, path: string, isResource: boolean): string[] {
  if (node === undefined || typeof value !== 'object' || value === null) return [];
  const own = shapeOf(node, value) === 'leaf' ? [path] : [];
  if (Array.isArray(value)) {
    return [...own, ...value.flatMap((item, at) => atomics(item, node.items, `${path}[${at}]`, false))];
  }
  const below = Object.entries(value).flatMap(([key, item]) => {
    const { node: child, declared } = fieldType(node, key, isResource || node.embedded);
    return declared ? atomics(item, child, `${path}.${key}`, false) : [];
  });
  return [...own, ...below];
}

/** Returns the reasons why a partial object cannot be merged: values that do not match the schema, or atomic values. */
export function typedProblems(
  partial: ApiObject,
  kind: KindDefinition,
): { errors: readonly string[]; atomic: string[] } {
  const node = rootOf(kind);
  const reader = new AppliedReader(scopeOf(kind, ''));
  reader.read(partial, node);
  return { errors: reader.errors, atomic: isRecord(partial) ? atomics(partial, node, '', true) : [] };
}

/** Merges a partial object by field and by item, like a server-side apply without managers. */
export const layOver = (whole: ApiObject, partial: ApiObject, kind: KindDefinition): ApiObject =>
  mergeValues(whole, partial, rootOf(kind), true) as ApiObject;
