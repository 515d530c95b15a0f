import { duplicate } from '../apimachinery/errors/schema-causes.ts';
import { equalJson, isRecord, own, sortedJson } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import type { SchemaNode } from './model/node.ts';

function keysOf(item: unknown, names: readonly string[]): Record<string, unknown> {
  const keys: Record<string, unknown> = {};
  if (!isRecord(item)) return keys;
  for (const name of names) {
    const value = own(item, name);
    if (value !== undefined) keys[name] = value;
  }
  return keys;
}

function checkList(value: unknown[], node: SchemaNode, path: string, causes: StatusCause[]): void {
  if (node.listType !== 'set' && node.listType !== 'map') return;
  const seen = new Set<string>();
  for (let i = 0; i < value.length; i++) {
    const key = node.listType === 'set' ? value[i] : keysOf(value[i], node.listMapKeys);
    const text = sortedJson(key);
    if (seen.has(text)) causes.push(duplicate(`${path}[${i}]`, key));
    else seen.add(text);
  }
}

export function validateLists(value: unknown, node: SchemaNode, path: string, causes: StatusCause[]): StatusCause[] {
  if (!node.listsBelow) return causes;
  if (Array.isArray(value)) {
    checkList(value, node, path, causes);
    if (node.items?.listsBelow) {
      for (let i = 0; i < value.length; i++) validateLists(value[i], node.items, `${path}[${i}]`, causes);
    }
    return causes;
  }
  if (!isRecord(value)) return causes;
  for (const key of Object.keys(value)) {
    const property = node.properties.get(key);
    if (property?.listsBelow) {
      validateLists(value[key], property, path === '' ? key : `${path}.${key}`, causes);
    } else if (property === undefined && node.additional?.listsBelow) {
      validateLists(value[key], node.additional, `${path}[${key}]`, causes);
    }
  }
  return causes;
}

/** Returns a map from the keys of the old list items to these items. */
export function oldItems(old: unknown, node: SchemaNode): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(old) || node.listType !== 'map') return undefined;
  return new Map(old.map((item) => [itemKey(item, node), item]));
}

/**
 * Returns whether a value counts as unchanged (`CorrelatedObject.CachedDeepEqual` in Kubernetes). If a list has keys,
 * the function compares items with equal keys.
 */
export function isUntouched(value: unknown, old: unknown, node: SchemaNode): boolean {
  if (Array.isArray(value)) {
    if (!Array.isArray(old) || value.length !== old.length) return false;
    const { items } = node;
    const before = items === undefined ? undefined : oldItems(old, node);
    if (items === undefined || before === undefined) return equalJson(value, old);
    return value.every((item) => {
      const counterpart = before.get(itemKey(item, node));
      return counterpart !== undefined && isUntouched(item, counterpart, items);
    });
  }
  if (!isRecord(value) || !isRecord(old)) return equalJson(value, old);
  const keys = Object.keys(value);
  if (keys.length !== Object.keys(old).length) return false;
  return keys.every((key) => {
    const child = node.properties.get(key) ?? node.additional;
    return child !== undefined && Object.hasOwn(old, key) && isUntouched(value[key], old[key], child);
  });
}

export const itemKey = (item: unknown, node: SchemaNode): string =>
  sortedJson(node.listMapKeys.map((name) => (isRecord(item) ? (own(item, name) ?? null) : null)));
