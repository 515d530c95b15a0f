import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import { nodeOf, type SchemaNode } from './model/node.ts';

const NO_FIELDS: JsonSchema = { type: 'object' };
const RESOURCE_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * Removes the fields that a schema does not contain, unless `keep` is set. With x-kubernetes-preserve-unknown-fields,
 * the function keeps unknown properties, but prunes the values of known properties.
 */
export function pruneValue(
  value: unknown,
  node: SchemaNode,
  options: { path: string; resource: boolean; keep: boolean; found: string[] },
): void {
  if (Array.isArray(value)) {
    if (node.items === undefined && (node.preserve || node.additionalAllowed)) return;
    // If the schema expects no list, the items of a list have no schema, so the items lose all fields.
    const items = node.items ?? nodeOf(NO_FIELDS);
    for (let i = 0; i < value.length; i++) {
      pruneValue(value[i], items, { ...options, path: `${options.path}[${i}]`, resource: items.embedded });
    }
    return;
  }
  if (!isRecord(value)) return;
  for (const key of Object.keys(value)) {
    if (options.resource && RESOURCE_FIELDS.has(key)) continue;
    const path = options.path === '' ? key : `${options.path}.${key}`;
    const child = node.properties.get(key) ?? node.additional;
    if (child === undefined) {
      if (node.preserve || node.additionalAllowed) continue;
      options.found.push(path);
      if (!options.keep) delete value[key];
      continue;
    }
    const below = value[key];
    if (typeof below === 'object' && below !== null) {
      pruneValue(below, child, { ...options, path, resource: child.embedded });
    }
  }
}
