import type { Plan } from './plan.ts';
import { IGNITION_PLAN, type IgnitionConfig } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Merges two configs of version 3.5 by Ignition's rules: values of the child replace, objects are merged field by field,
 * lists by the key of their entries. The parent's order stays, new entries follow in the child's. Neither is changed;
 * the result shares parts with both. Two valid configs may make an invalid one.
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
  const strangers = rule.shared === undefined ? undefined : keysOfOthers(owner, name, rule.shared, childFields);
  if (child.length === 0 && !strangers?.size) return parent.length === 0 ? undefined : parent;
  const merged = rule.append ? [...parent, ...child] : mergeKeyed(plan, parent, child, strangers);
  return merged.length === 0 ? undefined : merged;
}

const keyOf = (plan: Extract<Plan, { kind: 'list' }>, entry: unknown): string => plan.rule.key?.(entry as never) ?? '';

function mergeKeyed(
  plan: Extract<Plan, { kind: 'list' }>,
  parent: readonly unknown[],
  child: readonly unknown[],
  strangers: ReadonlySet<string> | undefined,
): unknown[] {
  const ofChild = new Map(child.map((entry) => [keyOf(plan, entry), entry]));
  const met = new Set<string>();
  const result: unknown[] = [];
  // The parent is the long one: nothing is remembered of entries that the child does not touch.
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

/** A header of the child without a value takes the parent's away. Only headers have `name` and `value`. */
const isRemovedHeader = (parent: unknown, child: unknown): boolean =>
  typeof parent === 'object' && parent !== null && 'value' in parent && !('value' in (child as object));

/** Keys of the child's other lists of the same key space: what they name is not to stay in this one. */
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
