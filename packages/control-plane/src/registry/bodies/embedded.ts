import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { malformed } from '../../crd/schema/embedded-resource.ts';
import { DecodeError, readMeta } from '../../resources/shape.ts';
import type { SchemaNode } from '../../schema/model/node.ts';

export function walk(
  value: unknown,
  node: SchemaNode,
  path: string,
  visit: (resource: Record<string, unknown>, path: string) => void,
): void {
  if (!node.embeddedBelow) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items !== undefined) for (const [at, item] of value.entries()) walk(item, items, `${path}[${at}]`, visit);
    return;
  }
  if (!isRecord(value)) return;
  if (node.embedded && path !== '') visit(value, path);
  for (const [key, below] of Object.entries(value)) {
    const property = node.properties.get(key);
    if (property !== undefined) walk(below, property, path === '' ? key : `${path}.${key}`, visit);
    else if (node.additional !== undefined) walk(below, node.additional, `${path}[${key}]`, visit);
  }
}

/**
 * Converts the metadata of embedded resources to Go types, and removes unknown fields.
 *
 * @param isApplied Whether invalid metadata stays in the result, because `embeddedCauses` reports it later.
 * @returns the sorted paths of unknown fields
 * @throws DecodeError if a field has the wrong type
 */
export function coerceEmbedded(object: ApiObject, node: SchemaNode, isApplied: boolean): string[] {
  const unknown: string[] = [];
  const fail = ({ field = '', message = '' }: StatusCause): DecodeError =>
    new DecodeError(`${field}: ${message}`, object);
  walk(object, node, '', (resource, path) => {
    for (const field of ['apiVersion', 'kind']) {
      const value = resource[field];
      if (value === undefined || typeof value === 'string' || isApplied) continue;
      throw fail(invalidValue(`${path}.${field}`, value, 'must be a string'));
    }
    if (resource.metadata === undefined) return;
    const given = structuredClone(resource.metadata);
    try {
      const { meta, unknown: found } = readMeta(resource.metadata);
      unknown.push(...found.map((field) => `${path}.metadata.${field}`));
      resource.metadata = meta;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      if (!isApplied) throw fail(malformed(path, given, error));
      resource.metadata = given;
    }
  });
  return unknown.sort();
}
