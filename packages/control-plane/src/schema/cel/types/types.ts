import { nodeOf, type SchemaNode } from '../../model/node.ts';

export type CelType =
  | {
      readonly kind:
        | 'dyn'
        | 'int'
        | 'uint'
        | 'double'
        | 'bool'
        | 'string'
        | 'bytes'
        | 'null'
        | 'timestamp'
        | 'duration'
        | 'type';
    }
  | { readonly kind: 'list'; readonly item: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'optional'; readonly item: CelType }
  | { readonly kind: 'opaque'; readonly name: string }
  | { readonly kind: 'param'; readonly name: string }
  | ObjectType;

export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  readonly node: SchemaNode;
  /** Whether the object is a whole resource with apiVersion, kind and metadata. */
  readonly isResource: boolean;
}

export const DYN: CelType = { kind: 'dyn' };
export const INT: CelType = { kind: 'int' };
export const UINT: CelType = { kind: 'uint' };
export const DOUBLE: CelType = { kind: 'double' };
export const BOOL: CelType = { kind: 'bool' };
export const STRING: CelType = { kind: 'string' };
export const BYTES: CelType = { kind: 'bytes' };
export const NULL: CelType = { kind: 'null' };
export const TIMESTAMP: CelType = { kind: 'timestamp' };
export const DURATION: CelType = { kind: 'duration' };
export const TYPE: CelType = { kind: 'type' };

export const listOf = (item: CelType): CelType => ({ kind: 'list', item });
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });
export const optionalOf = (item: CelType): CelType => ({ kind: 'optional', item });
export const opaque = (name: string): CelType => ({ kind: 'opaque', name });
export const param = (name: string): CelType => ({ kind: 'param', name });

export function printType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${printType(type.item)})`;
    case 'map':
      return `map(${printType(type.key)}, ${printType(type.value)})`;
    case 'optional':
      return `optional_type(${printType(type.item)})`;
    case 'opaque':
    case 'param':
      return type.name;
    case 'object':
      return type.name;
    default:
      return type.kind;
  }
}

const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while true false null in'.split(
    ' ',
  ),
);

const UNESCAPE: Readonly<Record<string, string>> = {
  __underscores__: '__',
  __dot__: '.',
  __dash__: '-',
  __slash__: '/',
};

export function unescapeName(name: string): string {
  const word = /^__([a-z]+)__$/.exec(name)?.[1];
  if (word !== undefined && RESERVED.has(word)) return word;
  return name.replace(/__(?:underscores|dot|dash|slash)__/g, (found) => UNESCAPE[found] ?? found);
}

/** Returns whether CEL rules can read a value. */
export function isExposed(node: SchemaNode): boolean {
  if (node.intOrString) return true;
  switch (node.types[0]) {
    case 'array':
      return node.items !== undefined && isExposed(node.items);
    case 'object':
      return node.additional === undefined || isExposed(node.additional);
    default:
      return node.types.length > 0;
  }
}

export function typeOfNode(node: SchemaNode, name: string, isResource: boolean): CelType {
  if (node.intOrString) return DYN;
  switch (node.types[0]) {
    case 'string':
      return typeOfFormat(node.format);
    case 'integer':
      return INT;
    case 'number':
      return DOUBLE;
    case 'boolean':
      return BOOL;
    case 'array':
      return listOf(node.items === undefined ? DYN : typeOfNode(node.items, `${name}.@idx`, node.items.embedded));
    case 'object': {
      if (node.additional !== undefined) return mapOf(STRING, typeOfNode(node.additional, `${name}.@elem`, false));
      return { kind: 'object', name, node, isResource: isResource || node.embedded };
    }
    default:
      return DYN;
  }
}

function typeOfFormat(format: string): CelType {
  if (format === 'byte') return BYTES;
  if (format === 'duration') return DURATION;
  return format === 'date' || format === 'date-time' ? TIMESTAMP : STRING;
}

/** In metadata, expressions can read only name and generateName. */
export function fieldOf(type: ObjectType, field: string): CelType | undefined {
  const name = unescapeName(field);
  const property = type.node.properties.get(name);
  if (type.isResource) {
    if (name === 'apiVersion' || name === 'kind') return STRING;
    if (name === 'metadata') return METADATA;
  }
  return property === undefined || !isExposed(property)
    ? undefined
    : typeOfNode(property, `${type.name}.${name}`, property.embedded);
}

const TEXT = nodeOf({ type: 'string' });

export function nodeOfField({ node, isResource }: ObjectType, field: string): SchemaNode | undefined {
  const name = unescapeName(field);
  if (isResource && (name === 'apiVersion' || name === 'kind')) return TEXT;
  if (isResource && name === 'metadata') return METADATA.node;
  return node.properties.get(name);
}

const METADATA: ObjectType = {
  kind: 'object',
  name: 'kubernetes.ObjectMeta',
  node: nodeOf({ type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } }),
  isResource: false,
};
