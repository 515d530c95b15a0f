import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../../../apimachinery/objects/kind.ts';
import { nodeOf, type SchemaNode } from '../../../schema/model/node.ts';

/** How the server merges a value: as a whole, by key, or by item. */
export type Shape = 'leaf' | 'map' | 'list';

const text: JsonSchema = { type: 'string' };
const textMap: JsonSchema = { type: 'object', additionalProperties: text };

const META: JsonSchema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: { type: 'string', format: 'date-time' },
    deletionTimestamp: { type: 'string', format: 'date-time' },
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    labels: textMap,
    annotations: textMap,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    ownerReferences: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      items: {
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          // A later validation refuses an owner reference without `uid`.
          uid: { ...text, default: '' },
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    managedFields: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
};

/** Without a schema, the value of the field determines its type. */
export interface FieldType {
  readonly node: SchemaNode | undefined;
  /** Whether the schema contains the name of the field. A key of a map is not declared. */
  readonly declared: boolean;
  readonly known: boolean;
}

const UNKNOWN: FieldType = { node: undefined, declared: false, known: true };
const MISSING: FieldType = { node: undefined, declared: false, known: false };

/** Returns whether a map may have any key. */
const isFree = (node: SchemaNode, isResource: boolean): boolean =>
  !node.closed &&
  (node.preserve || node.additionalAllowed || node.types.length === 0 || (node.properties.size === 0 && !isResource));

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const preserving = new WeakMap<SchemaNode, SchemaNode>();

function preservingSchema(schema: JsonSchema): JsonSchema {
  if (schema.type === 'object') return { ...schema, [PRESERVE]: true };
  return schema.type === 'array' && isRecord(schema.items)
    ? { ...schema, items: preservingSchema(schema.items as JsonSchema) }
    : schema;
}

/** The field manager applies `x-kubernetes-preserve-unknown-fields` to all schemas below the extension. */
function preservingNode(node: SchemaNode): SchemaNode {
  let found = preserving.get(node);
  if (found === undefined) {
    found = nodeOf(preservingSchema(node.schema));
    preserving.set(node, found);
  }
  return found;
}

/** With `isResource`, apiVersion, kind and metadata are always known fields. */
export function fieldType(node: SchemaNode | undefined, name: string, isResource: boolean): FieldType {
  if (isResource) {
    if (name === 'metadata') return { node: nodeOf(META), declared: true, known: true };
    if (name === 'apiVersion' || name === 'kind') return { node: nodeOf(text), declared: true, known: true };
  }
  if (node === undefined) return UNKNOWN;
  const inherited = (child: SchemaNode): SchemaNode => (node.preserve ? preservingNode(child) : child);
  const property = node.properties.get(name);
  if (property !== undefined) return { node: inherited(property), declared: true, known: true };
  if (node.additional !== undefined) return { node: inherited(node.additional), declared: false, known: true };
  return isFree(node, isResource) ? UNKNOWN : MISSING;
}

/**
 * Returns whether a schema accepts any scalar. As in the field manager of kube-apiserver, this applies to a string with
 * a format other than `byte`.
 */
export const isAnyScalar = (node: SchemaNode): boolean =>
  node.types[0] === 'string' && node.format !== '' && node.format !== 'byte';

export const isScalar = (value: unknown): boolean => ['string', 'boolean', 'number', 'bigint'].includes(typeof value);

const isAssociative = (node: SchemaNode): boolean =>
  node.listType === 'set' || (node.listType === 'map' && node.listMapKeys.length > 0);

const typeOf = (node: SchemaNode): string | undefined => (node.intOrString ? 'scalar' : node.types[0]);

/** Returns how the server merges a value. */
export function shapeOf(node: SchemaNode | undefined, value: unknown): Shape {
  const type = node === undefined ? undefined : typeOf(node);
  if (node === undefined || type === undefined) return isRecord(value) && node?.mapType !== 'atomic' ? 'map' : 'leaf';
  if (type === 'object') return node.mapType === 'atomic' ? 'leaf' : 'map';
  if (type === 'array') return isAssociative(node) ? 'list' : 'leaf';
  return 'leaf';
}
