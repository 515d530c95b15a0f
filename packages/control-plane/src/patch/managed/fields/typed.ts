import { isNumber, isRecord } from '../../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../../schema/model/node.ts';
import { itemElement, itemKeys } from './fieldPath.ts';
import { fieldType, isAnyScalar, isScalar } from './types.ts';

function fits(value: unknown, node: SchemaNode): boolean {
  if (node.intOrString) return true;
  switch (node.types[0]) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'string':
      return typeof value === 'string' || (isAnyScalar(node) && isScalar(value));
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
    case 'number':
      return isNumber(value);
    default:
      return true;
  }
}

/** Returns whether a list item has all keys. */
const hasKeys = (item: unknown, list: SchemaNode): boolean =>
  list.listType !== 'map' || Object.keys(itemKeys(item, list)).length > 0;

const isUnique = (list: readonly unknown[], node: SchemaNode): boolean =>
  (node.listType !== 'set' && node.listType !== 'map') ||
  new Set(list.map((item) => itemElement(item, node))).size === list.length;

/**
 * Returns whether an object matches its schema: all values have the right types, and items of associative lists have
 * their keys.
 * @param isClosed Whether the function refuses unknown fields and duplicate items of associative lists.
 */
export function isTyped(value: unknown, node: SchemaNode | undefined, isResource = false, isClosed = false): boolean {
  if (value === undefined || value === null) return true;
  if (node !== undefined && !fits(value, node)) return false;
  if (Array.isArray(value)) {
    if (node?.items === undefined) return true;
    const { items } = node;
    if (isClosed && !isUnique(value, node)) return false;
    return value.every((item) => hasKeys(item, node) && isTyped(item, items, false, isClosed));
  }
  if (!isRecord(value)) return true;
  const embedded = isResource || node?.embedded === true;
  return Object.keys(value).every((key) => {
    const field = fieldType(node, key, embedded);
    return (field.known || !isClosed) && isTyped(value[key], field.node, false, isClosed);
  });
}
