import { goQuote } from '../../../apimachinery/errors/schema-causes.ts';
import { parseJson } from '../../../apimachinery/objects/json.ts';
import { isRecord, own, sortedJson } from '../../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../../schema/model/node.ts';

/** The path element of a field. */
export const fieldElement = (name: string): string => `f:${name}`;

/** The path element of an item of a set or list-map; a key that the item lacks takes the default of its schema. */
export function itemElement(item: unknown, list: SchemaNode): string {
  if (list.listType === 'set') return `v:${sortedJson(item)}`;
  const keys: Record<string, unknown> = {};
  if (isRecord(item)) {
    for (const name of list.listMapKeys) {
      const value = own(item, name) ?? list.items?.properties.get(name)?.default;
      if (value !== undefined) keys[name] = value;
    }
  }
  return `k:${sortedJson(keys)}`;
}

const printValue = (value: unknown): string => (typeof value === 'string' ? goQuote(value) : String(value));

/** A path element as messages print it: `.name`, `[name="c"]`, `[="x"]`, `[0]`. */
export function printElement(element: string): string {
  const body = element.slice(2);
  switch (element.slice(0, 2)) {
    case 'k:': {
      const keys = parseJson(body) as Record<string, unknown>;
      const parts = Object.keys(keys)
        .sort()
        .map((name) => `${name}=${printValue(keys[name])}`);
      return `[${parts.join(',')}]`;
    }
    case 'v:':
      return `[=${printValue(parseJson(body))}]`;
    case 'i:':
      return `[${body}]`;
    default:
      return `.${body}`;
  }
}

/** A path as messages print it, e.g. `.spec.ports[port=1,protocol="TCP"].name`. */
export const printPath = (path: readonly string[]): string => path.map(printElement).join('');
