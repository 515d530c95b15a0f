import { parseJson } from '../../../apimachinery/objects/json.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import type { JsonObject } from '../../../apimachinery/objects/object.ts';

/**
 * A set of field paths as a tree. The keys of the tree are path elements of `fieldsV1`:
 * - `f:name` for a field,
 * - `k:{…}` for a list item by its keys,
 * - `v:…` for a set item by its value,
 * - `i:0` for an index.
 *
 * Trees are immutable, so that sets can share them.
 */
export interface FieldSet {
  /** Whether the path to this node of the tree belongs to the set. */
  readonly self: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const NO_CHILDREN: ReadonlyMap<string, FieldSet> = new Map();

export const EMPTY_SET: FieldSet = { self: false, children: NO_CHILDREN };

export const LEAF: FieldSet = { self: true, children: NO_CHILDREN };

/** Creates a set of field paths. */
export function fieldSet(self: boolean, children: ReadonlyMap<string, FieldSet> | undefined): FieldSet {
  if (children === undefined || children.size === 0) return self ? LEAF : EMPTY_SET;
  return { self, children };
}

export const isEmptySet = (set: FieldSet): boolean => !set.self && set.children.size === 0;

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  const children = new Map(a.children);
  for (const [key, child] of b.children) {
    const other = children.get(key);
    children.set(key, other === undefined ? child : union(other, child));
  }
  return fieldSet(a.self || b.self, children);
}

/** Returns the members of `a` that are not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b) || isEmptySet(a)) return a;
  let children: Map<string, FieldSet> | undefined;
  for (const [key, child] of b.children) {
    const mine = a.children.get(key);
    if (mine === undefined) continue;
    const rest = difference(mine, child);
    if (rest === mine) continue;
    children ??= new Map(a.children);
    if (isEmptySet(rest)) children.delete(key);
    else children.set(key, rest);
  }
  if (children === undefined && !(a.self && b.self)) return a;
  return fieldSet(a.self && !b.self, children ?? a.children);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [key, child] of a.children) {
    const other = b.children.get(key);
    if (other === undefined) continue;
    const common = intersection(child, other);
    if (!isEmptySet(common)) children.set(key, common);
  }
  return fieldSet(a.self && b.self, children);
}

export function sameSet(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.self !== b.self || a.children.size !== b.children.size) return false;
  for (const [key, child] of a.children) {
    const other = b.children.get(key);
    if (other === undefined || !sameSet(child, other)) return false;
  }
  return true;
}

/**
 * Yields the paths in the order of structured-merge-diff: all members of a level, and then the paths below each member.
 */
export function* paths(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const keys = [...set.children.keys()].sort();
  for (const key of keys) if (set.children.get(key)?.self) yield [...prefix, key];
  for (const key of keys) {
    const child = set.children.get(key);
    if (child !== undefined && child.children.size > 0) yield* paths(child, [...prefix, key]);
  }
}

const MAX_DEPTH = 500;

function parse(fields: Record<string, unknown>, isRoot: boolean, depth: number): FieldSet {
  const children = new Map<string, FieldSet>();
  let self = !isRoot && Object.keys(fields).length === 0;
  if (depth > MAX_DEPTH) return self ? LEAF : EMPTY_SET;
  for (const key of Object.keys(fields)) {
    const below = fields[key];
    if (key === '.') self = true;
    else children.set(key, parse(isRecord(below) ? below : {}, false, depth + 1));
  }
  return fieldSet(self, children);
}

/** Returns whether a text is JSON. The keys and values of list items must be JSON. */
function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a key is a path element of a known type. */
function isElement(key: string): boolean {
  if (key === '.') return true;
  if (key[1] !== ':') return false;
  const body = key.slice(2);
  if (key[0] === 'i') return /^[+-]?\d+$/.test(body);
  return (key[0] !== 'k' && key[0] !== 'v') || isJson(body);
}

export function isReadableFields(fields: unknown): boolean {
  if (fields === null) return true;
  if (!isRecord(fields)) return false;
  return Object.entries(fields).every(
    ([key, below]) => isElement(key) && (!/^[fkvi]:/.test(key) || isReadableFields(below)),
  );
}

const parsed = new WeakMap<object, FieldSet>();

/** The cache of parsed sets has the `fieldsV1` object as its key, because most writes do not change the entries. */
export function parseFields(fields: JsonObject | undefined): FieldSet {
  // As in kube-apiserver, an invalid `fieldsV1` means the empty set.
  if (!isRecord(fields)) return EMPTY_SET;
  let set = parsed.get(fields);
  if (set === undefined) {
    set = parse(fields, true, 0);
    parsed.set(fields, set);
  }
  return set;
}

function format(set: FieldSet, isRoot: boolean): JsonObject {
  const fields: JsonObject = {};
  if (set.self && !isRoot && set.children.size > 0) fields['.'] = {};
  for (const key of [...set.children.keys()].sort()) {
    const child = set.children.get(key);
    // Every key has a prefix such as `f:`, so a key cannot be the name of a prototype member.
    if (child !== undefined) fields[key] = format(child, false);
  }
  return fields;
}

export function formatFields(set: FieldSet): JsonObject {
  const fields = format(set, true);
  parsed.set(fields, set);
  return fields;
}
