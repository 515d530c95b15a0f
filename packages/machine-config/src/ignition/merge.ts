import type { Plan } from './plan/plan.ts';
import { IGNITION_PLAN, type IgnitionConfig } from './versions/schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Merges two configs of version 3.5 by Ignition's rules.
 * - Values of the child config replace values of the parent config, and lists merge by the key of their entries.
 * - `mergeIgnition` does not change its arguments, and its result shares parts with both.
 */
export const mergeIgnition = (parent: IgnitionConfig, child: IgnitionConfig): IgnitionConfig =>
  mergeValue(IGNITION_PLAN, parent, child) as IgnitionConfig;

function mergeValue(plan: Plan, parent: unknown, child: unknown): unknown {
  if (child === undefined) return parent;
  if (parent === undefined || plan.kind !== 'object') return child;
  return mergeObject(plan, parent as Fields, child as Fields);
}

function mergeObject(plan: Extract<Plan, { kind: 'object' }>, parent: Fields, child: Fields): Fields {
  const result: Record<string, unknown> = {};
  for (const { name, plan: inner } of plan.fields) {
    const merged =
      inner.kind === 'list'
        ? mergeList(plan, name, inner, parent, child)
        : mergeValue(inner, parent[name], child[name]);
    if (merged !== undefined) result[name] = merged;
  }
  return result;
}

function mergeList(
  owner: Extract<Plan, { kind: 'object' }>,
  name: string,
  plan: Extract<Plan, { kind: 'list' }>,
  parentFields: Fields,
  childFields: Fields,
): readonly unknown[] | undefined {
  const parent = (parentFields[name] ?? []) as readonly unknown[];
  const child = (childFields[name] ?? []) as readonly unknown[];
  const { rule } = plan;
  if (child.length === 0 && parent.length === 0) return undefined;
  const strangers = rule.shared === undefined ? undefined : keysOfOthers(owner, name, rule.shared, childFields);
  if (child.length === 0 && !strangers?.size) return parent;
  const merged = rule.append ? [...parent, ...child] : mergeKeyed(plan, parent, child, strangers);
  return merged.length === 0 ? undefined : merged;
}

const keyOf = (plan: Extract<Plan, { kind: 'list' }>, entry: unknown): string => plan.rule.key?.(entry as never) ?? '';

type Places = Map<string, number>;

/** Caches the indexes of merged lists, so that a chain of a hundred merges indexes each entry only once. */
const known = new WeakMap<object, Places>();

/** Returns the index of each entry by its key, or undefined if a key occurs twice. */
function placesOf(plan: Extract<Plan, { kind: 'list' }>, entries: readonly unknown[]): Places | undefined {
  const places: Places = known.get(entries) ?? new Map();
  known.delete(entries);
  if (places.size === 0) {
    for (let index = 0; index < entries.length; index += 1) places.set(keyOf(plan, entries[index]), index);
  }
  return places.size === entries.length ? places : undefined;
}

function mergeKeyed(
  plan: Extract<Plan, { kind: 'list' }>,
  parent: readonly unknown[],
  child: readonly unknown[],
  strangers: ReadonlySet<string> | undefined,
): unknown[] {
  const places = placesOf(plan, parent);
  if (!places) return mergeThrough(plan, parent, child, strangers);
  if (strangers) for (const key of strangers) if (places.has(key)) return mergeThrough(plan, parent, child, strangers);
  const result = parent.slice();
  for (const entry of child) {
    const key = keyOf(plan, entry);
    const place = places.get(key);
    if (place === undefined) places.set(key, result.push(entry) - 1);
    else if (place >= parent.length || isRemovedHeader(parent[place], entry))
      return mergeThrough(plan, parent, child, strangers);
    else result[place] = mergeValue(plan.entry, parent[place], entry);
  }
  known.set(result, places);
  return result;
}

/** Merges lists with duplicate keys and removed entries. */
function mergeThrough(
  plan: Extract<Plan, { kind: 'list' }>,
  parent: readonly unknown[],
  child: readonly unknown[],
  strangers: ReadonlySet<string> | undefined,
): unknown[] {
  const ofChild = new Map(child.map((entry) => [keyOf(plan, entry), entry]));
  const met = new Set<string>();
  const result: unknown[] = [];
  for (const entry of parent) {
    const key = keyOf(plan, entry);
    const other = ofChild.get(key);
    if (other === undefined) {
      if (!strangers?.has(key)) result.push(entry);
      continue;
    }
    met.add(key);
    if (!isRemovedHeader(entry, other)) result.push(mergeValue(plan.entry, entry, other));
  }
  for (const entry of child) if (!met.has(keyOf(plan, entry))) result.push(entry);
  return result;
}

/** An HTTP header without a value removes the header of the parent config. */
const isRemovedHeader = (parent: unknown, child: unknown): boolean =>
  typeof parent === 'object' && parent !== null && 'value' in parent && !('value' in (child as object));

function keysOfOthers(
  owner: Extract<Plan, { kind: 'object' }>,
  name: string,
  shared: string,
  child: Fields,
): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { name: other, plan } of owner.fields) {
    if (other === name || plan.kind !== 'list' || plan.rule.shared !== shared) continue;
    for (const entry of (child[other] ?? []) as readonly unknown[]) keys.add(keyOf(plan, entry));
  }
  return keys;
}
