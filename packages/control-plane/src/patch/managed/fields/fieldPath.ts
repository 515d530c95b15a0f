import { goQuote } from '../../../apimachinery/errors/schema-causes.ts';
import { parseJson } from '../../../apimachinery/objects/json.ts';
import { isRecord, own, sortedJson } from '../../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../../schema/model/node.ts';

export const fieldElement = (name: string): string => `f:${name}`;

/** The keys that an item of a built-in list may omit. */
const OPTIONAL_KEYS: ReadonlySet<string> = new Set([
  'io.k8s.api.core.v1.ObjectReference.name',
  'io.k8s.api.flowcontrol.v1.FlowSchemaCondition.type',
  'io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition.type',
  'io.k8s.api.resource.v1.AllocatedDeviceStatus.shareID',
]);

const ZEROS: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0 };

/**
 * Returns the default of a list key. The default comes from the published schema. For a built-in kind, the default
 * comes from the Go type.
 */
function keyDefault({ items }: SchemaNode, name: string): unknown {
  const key = items?.properties.get(name);
  if (key?.hasDefault === true) return key.default;
  const id = items?.schema.$id;
  return id === undefined || OPTIONAL_KEYS.has(`${id}.${name}`) ? undefined : ZEROS[key?.types[0] ?? ''];
}

/** A missing key of a list item has the default from the schema. */
export function itemKeys(item: unknown, list: SchemaNode): Readonly<Record<string, unknown>> {
  const keys: Record<string, unknown> = {};
  if (!isRecord(item)) return keys;
  for (const name of list.listMapKeys) {
    const given = own(item, name);
    const value = given === undefined ? keyDefault(list, name) : given;
    if (value !== undefined) keys[name] = value;
  }
  return keys;
}

export const itemElement = (item: unknown, list: SchemaNode): string =>
  list.listType === 'set' ? `v:${sortedJson(item)}` : `k:${sortedJson(itemKeys(item, list))}`;

const printValue = (value: unknown): string => (typeof value === 'string' ? goQuote(value) : String(value));

/** Formats a path element for messages: `.name`, `[name="c"]`, `[="x"]` or `[0]`. */
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

/** Formats a path for messages, such as `.spec.ports[port=1,protocol="TCP"].name`. */
export const printPath = (path: readonly string[]): string => path.map(printElement).join('');
