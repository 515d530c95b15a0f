import type { SchemaNode } from '../../model/node.ts';
import { type CelType, isExposed, nodeOfField } from '../types/types.ts';
import { ONE, type Size, UNKNOWN } from './size.ts';

const MAX_REQUEST = 3_145_728;

/** The minimum size of the JSON text for each type, in bytes. */
const MIN_STRINGS: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/**
 * The fields that every resource has, with their minimum sizes. A schema can require these fields without declaring
 * them.
 */
const RESOURCE_FIELDS: Readonly<Record<string, number>> = { apiVersion: 2, kind: 2, metadata: 2 };

/** Returns the minimum size of a value in a request. */
function minBytes(node: SchemaNode | undefined, isResource = false, depth = 0): number {
  if (node === undefined || node.intOrString || depth > 20) return 1;
  switch (node.types[0]) {
    case 'string':
      return MIN_STRINGS[node.format] ?? 2;
    case 'boolean':
      return 4;
    case 'array':
      return 2;
    case 'object': {
      let size = 2;
      if (node.additional !== undefined) return size;
      for (const name of new Set(node.required)) {
        const property = node.properties.get(name);
        const own = isResource ? RESOURCE_FIELDS[name] : undefined;
        if (own !== undefined) size += name.length + 4 + own;
        else if (property !== undefined && !property.hasDefault && isExposed(property))
          size += Buffer.byteLength(name) + 4 + minBytes(property, property.embedded, depth + 1);
      }
      return size;
    }
    default:
      return 1;
  }
}

/** Returns how many values with this schema one request can contain. */
export const maxCount = (node: SchemaNode, isResource: boolean): number =>
  Math.floor(MAX_REQUEST / (minBytes(node, isResource) + 1));

const limit = (value: number | undefined): number | undefined => (value === undefined ? undefined : Math.max(0, value));

const FORMAT_SIZES: Readonly<Record<string, number>> = { date: 12, 'date-time': 32, duration: 32 };

function maxLength(node: SchemaNode): number {
  const length = limit(node.maxLength);
  if (node.format === 'byte') return length ?? MAX_REQUEST - 2;
  const formatted = FORMAT_SIZES[node.format];
  if (formatted !== undefined) return formatted;
  // In UTF-8, a character has at most four bytes.
  if (length !== undefined) return length * 4;
  const words = node.intOrString ? undefined : node.enum?.map((word) => (typeof word === 'string' ? word : ''));
  return words === undefined ? MAX_REQUEST - 2 : Math.max(...words.map((word) => Buffer.byteLength(word)));
}

/** Returns the maximum size of a value: bytes of a string, items of a list, or entries of a map. */
function maxSize(node: SchemaNode): number {
  if (node.intOrString) return maxLength(node);
  switch (node.types[0]) {
    case 'string':
      return maxLength(node);
    case 'array':
      return limit(node.maxItems) ?? Math.floor((MAX_REQUEST - 2) / (minBytes(node.items) + 1));
    case 'object':
      if (node.additional === undefined) return 0;
      return limit(node.maxProperties) ?? Math.floor((MAX_REQUEST - 2) / (minBytes(node.additional) + 6));
    default:
      return 0;
  }
}

export interface Place {
  readonly size: number | undefined;
  readonly node?: SchemaNode | undefined;
  readonly isResource?: boolean;
}

const NOWHERE: Place = { size: undefined };
/** The place of a map key. As in kube-apiserver, map keys have no size in cost estimates. */
const KEY: Place = { size: 0 };

export const placeOf = (node: SchemaNode | undefined, isResource: boolean): Place =>
  node === undefined || !isExposed(node) ? NOWHERE : { size: maxSize(node), node, isResource };

export function fieldPlace({ node, isResource = false }: Place, field: string): Place {
  const isObject = node !== undefined && node.types[0] === 'object' && node.additional === undefined;
  if (!isObject || node.intOrString) return NOWHERE;
  const child = nodeOfField({ kind: 'object', name: '', node, isResource }, field);
  return placeOf(child, child?.embedded ?? false);
}

/** Returns the place of the values in a list or a map. */
export function valuePlace({ node }: Place): Place {
  const child = node?.types[0] === 'array' ? node.items : node?.additional;
  return placeOf(child, child?.embedded ?? false);
}

export const keyPlace = ({ node }: Place): Place =>
  node?.types[0] === 'object' && node.additional !== undefined ? KEY : NOWHERE;

const SCALARS: ReadonlySet<CelType['kind']> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

const isScalar = (type: CelType): boolean => (type.kind === 'optional' ? isScalar(type.item) : SCALARS.has(type.kind));

export function sizeAt(type: CelType, place: Place | undefined, known: Size = UNKNOWN): Size {
  if (place?.size !== undefined) return { min: 0, max: place.size };
  return isScalar(type) ? ONE : known;
}
