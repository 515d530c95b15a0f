import { isRecord, own, put } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { itemElement } from './fields/fieldPath.ts';
import type { FieldSet } from './fields/fieldSet.ts';
import { fieldType, shapeOf } from './fields/types.ts';

/**
 * The last apply of a manager (`last`) may contain fields that no manager owns now (`owned`). Removes these fields.
 * - The function removes a field of a structure if no manager owns a field inside of it.
 * - If another manager owns a map key or list item, the function removes only the fields of the applying manager.
 */
export function pruneDropped(
  value: unknown,
  last: FieldSet,
  owned: FieldSet | undefined,
  node: SchemaNode | undefined,
  isResource = false,
): unknown {
  const shape = shapeOf(node, value);
  if (shape === 'list' && Array.isArray(value) && node !== undefined) return pruneList(value, last, owned, node);
  if (shape !== 'map' || !isRecord(value)) return value;
  let result: Record<string, unknown> | undefined;
  for (const [element, dropped] of last.children) {
    if (!element.startsWith('f:')) continue;
    const name = element.slice(2);
    if (!Object.hasOwn(value, name)) continue;
    result ??= { ...value };
    const still = owned?.children.get(element);
    const type = fieldType(node, name, isResource);
    if (type.declared ? still === undefined : isDropped(dropped, still)) {
      delete result[name];
    } else {
      put(result, name, emptied(own(value, name), pruneDropped(own(value, name), dropped, still, type.node)));
    }
  }
  return result ?? value;
}

/**
 * Returns whether the applying manager owned the item before, and no manager owns the item now. The server removes the
 * item even if another manager owns a field inside the item.
 */
const isDropped = (dropped: FieldSet, still: FieldSet | undefined): boolean => dropped.self && still?.self !== true;

/** Returns null for a list or map that lost its last item. */
function emptied(before: unknown, after: unknown): unknown {
  if (after === before || typeof after !== 'object' || after === null) return after;
  return Object.keys(after).length === 0 ? null : after;
}

function pruneList(
  value: readonly unknown[],
  last: FieldSet,
  owned: FieldSet | undefined,
  node: SchemaNode,
): unknown[] {
  const kept: unknown[] = [];
  for (const item of value) {
    const element = itemElement(item, node);
    const dropped = last.children.get(element);
    const still = owned?.children.get(element);
    if (dropped === undefined) kept.push(item);
    else if (!isDropped(dropped, still)) kept.push(pruneDropped(item, dropped, still, node.items));
  }
  return kept;
}
