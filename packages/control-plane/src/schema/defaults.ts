import { cloneJson, isRecord, own, put } from '../apimachinery/objects/json-value.ts';
import type { SchemaNode } from './model/node.ts';

const takesDefault = (value: unknown, node: SchemaNode): boolean => value === null && !node.nullable;

/** A default object may have fields with defaults, so the function sets the defaults of parents first. */
export function setDefaults(value: unknown, node: SchemaNode): void {
  if (!node.defaultsBelow) return;
  if (Array.isArray(value)) {
    const items = node.items;
    if (items === undefined) return;
    for (let i = 0; i < value.length; i++) {
      if (items.hasDefault && takesDefault(value[i], items)) value[i] = cloneJson(items.default);
      setDefaults(value[i], items);
    }
    return;
  }
  if (!isRecord(value)) return;
  for (const [name, property] of node.properties) {
    if (!property.hasDefault) continue;
    if (!Object.hasOwn(value, name) || takesDefault(value[name], property))
      put(value, name, cloneJson(property.default));
  }
  for (const key of Object.keys(value)) {
    const child = node.properties.get(key) ?? node.additional;
    if (child === undefined) continue;
    if (child.hasDefault && takesDefault(value[key], child)) put(value, key, cloneJson(child.default));
    setDefaults(own(value, key), child);
  }
}

/** Removes the nulls of fields that do not allow null and have no default. */
export function dropNulls(value: unknown, node: SchemaNode): void {
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) dropNulls(item, node.items);
    return;
  }
  if (!isRecord(value)) return;
  for (const key of Object.keys(value)) {
    const child = node.properties.get(key) ?? node.additional;
    if (child === undefined) continue;
    const below = value[key];
    if (below === null) {
      if (!child.nullable && !child.hasDefault) delete value[key];
    } else if (typeof below === 'object') {
      dropNulls(below, child);
    }
  }
}
