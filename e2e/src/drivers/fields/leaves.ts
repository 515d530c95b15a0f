import type { JsonSchema } from '@mcm/core';

export type Path = readonly (string | number)[];

export interface Leaf {
  readonly path: Path;
  readonly value: unknown;
}

export function leavesOf(value: unknown, path: Path = []): readonly Leaf[] {
  if (Array.isArray(value)) return value.flatMap((each, at) => leavesOf(each, [...path, at]));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]));
  return [{ path, value }];
}

/** Returns the name of a field without list indexes and map keys, such as `disks[].labels` and `tags`. */
export const fieldOf = (path: Path, schema: JsonSchema): string => {
  let at: JsonSchema | undefined = schema;
  let text = '';
  for (const part of path) {
    if (at?.items) {
      text += '[]';
      at = at.items;
      continue;
    }
    const next: JsonSchema | undefined = at?.properties?.[part];
    if (next) text += text === '' ? part : `.${part}`;
    at = next ?? (typeof at?.additionalProperties === 'object' ? at.additionalProperties : undefined);
  }
  return text;
};

/** Returns the scalar fields in a schema with their descriptions. */
export function fieldsOf(schema: JsonSchema, at = ''): readonly { readonly field: string; readonly about: string }[] {
  const { properties, items, description: about = '' } = schema;
  if (items) return fieldsOf({ description: about, ...items }, `${at}[]`);
  if (!properties) return [{ field: at, about }];
  return Object.entries(properties).flatMap(([name, each]) => fieldsOf(each, at === '' ? name : `${at}.${name}`));
}

export function put(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by;
  if (Array.isArray(value)) return value.map((each, i) => (i === first ? put(each, rest, by) : each));
  const known = value as Readonly<Record<string, unknown>>;
  return { ...known, [first]: put(known[first], rest, by) };
}

/** Returns all values inside of a provider spec, including lists and objects. */
export function membersOf(value: unknown, path: Path = []): readonly Leaf[] {
  if (Array.isArray(value)) return value.flatMap((each, at) => membersOf(each, [...path, at]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [
    { path: [...path, key], value: each },
    ...membersOf(each, [...path, key]),
  ]);
}

export function without(value: unknown, [first, ...rest]: Path): unknown {
  if (Array.isArray(value)) return value.map((each, i) => (i === first ? without(each, rest) : each));
  const known = value as Readonly<Record<string, unknown>>;
  if (rest.length > 0) return { ...known, [String(first)]: without(known[String(first)], rest) };
  return Object.fromEntries(Object.entries(known).filter(([key]) => key !== first));
}

export const another = (value: unknown): unknown =>
  typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${String(value)}x`;
