import { isRecord } from './json-value.ts';
import type { ApiObject } from './object.ts';

export type Plain = Record<string, unknown>;

export function child(parent: Plain | ApiObject, field: string): Plain {
  const holder = parent as Plain;
  const value = holder[field];
  if (isRecord(value)) return value;
  const made: Plain = {};
  holder[field] = made;
  return made;
}

/** Returns the object at the path of field names. */
export function look(parent: unknown, ...path: readonly string[]): Plain {
  let value: unknown = parent;
  for (const field of path) value = isRecord(value) ? value[field] : undefined;
  return isRecord(value) ? value : {};
}

/** Returns the objects in a list field. */
export function items(parent: unknown, field: string): Plain[] {
  const value = isRecord(parent) ? parent[field] : undefined;
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Returns the strings in a list field. */
export function strings(parent: unknown, field: string): string[] {
  const value = isRecord(parent) ? parent[field] : undefined;
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function text(parent: unknown, field: string): string {
  const value = isRecord(parent) ? parent[field] : undefined;
  return typeof value === 'string' ? value : '';
}

export function number(parent: unknown, field: string): number | undefined {
  const value = isRecord(parent) ? parent[field] : undefined;
  return typeof value === 'number' ? value : undefined;
}

/** Returns the map in a field, such as labels. */
export function labels(parent: unknown, field: string): Record<string, string> {
  return look(parent, field) as Record<string, string>;
}

/** Sets the field if the field is absent or empty. */
export function preset(target: Plain, field: string, value: unknown): void {
  const present = target[field];
  if (present === undefined || present === null || present === '') target[field] = value;
}

/** Sets each field that is absent or empty. */
export function presets(target: Plain, values: Readonly<Plain>): void {
  for (const [field, value] of Object.entries(values)) preset(target, field, value);
}

type Exact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

export function defined<T extends object>(members: T): Exact<T>;
export function defined(members: object): object {
  const entries = Object.entries(members);
  const kept = entries.filter(([, value]) => value !== undefined);
  return kept.length === entries.length ? members : Object.fromEntries(kept);
}
