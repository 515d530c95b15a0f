import type { FieldPlan, Plan } from '../plan/plan.ts';
import type { Add } from './validate-storage.ts';

type ObjectPlan = Extract<Plan, { kind: 'object' }>;
type ListPlan = Extract<Plan, { kind: 'list' }>;

interface Traits {
  readonly keyed: readonly { readonly name: string; readonly plan: ListPlan; readonly space: string }[];
  readonly deep: readonly FieldPlan[];
}

const traits = new WeakMap<ObjectPlan, Traits>();

function traitsOf(plan: ObjectPlan): Traits {
  const known = traits.get(plan);
  if (known) return known;
  const keyed = plan.fields.flatMap(({ name, plan: inner }) =>
    inner.kind === 'list' && !inner.rule.append ? [{ name, plan: inner, space: inner.rule.shared ?? name }] : [],
  );
  const made = { keyed, deep: plan.fields.filter((field) => isDeep(field.plan)) };
  traits.set(plan, made);
  return made;
}

function isDeep(plan: Plan): boolean {
  if (plan.kind === 'list') return plan.entry.kind === 'object' && isDeep(plan.entry);
  if (plan.kind !== 'object') return false;
  const { keyed, deep } = traitsOf(plan);
  return keyed.length > 0 || deep.length > 0;
}

/**
 * Reports two entries with an equal key, in one list or in lists that share their keys. Source:
 * config/validate/validate.go.
 */
export function checkDuplicates(plan: Plan, value: object, at: string, add: Add): void {
  if (plan.kind === 'object') checkObject(plan, value, [at], add);
}

function checkObject(plan: ObjectPlan, value: object, trail: (string | number)[], add: Add): void {
  const { keyed, deep } = traitsOf(plan);
  const fields = value as Readonly<Record<string, unknown>>;
  let seen: Map<string, Set<string>> | undefined;
  for (const { name, plan: list, space } of keyed) {
    const entries = fields[name] as readonly unknown[] | undefined;
    if (entries === undefined || entries.length === 0) continue;
    seen ??= new Map();
    const keys = seen.get(space) ?? new Set();
    seen.set(space, keys);
    for (let index = 0; index < entries.length; index += 1) {
      const key = list.rule.key?.(entries[index] as never) ?? '';
      if (keys.has(key)) add([...trail, name, index].join('.'), 'duplicate entry defined');
      keys.add(key);
    }
  }
  for (const { name, plan: inner } of deep) {
    const child = fields[name];
    if (child === undefined) continue;
    trail.push(name);
    if (inner.kind === 'object') checkObject(inner, child as object, trail, add);
    else if (inner.kind === 'list') checkEntries(inner, child as readonly unknown[], trail, add);
    trail.pop();
  }
}

function checkEntries({ entry }: ListPlan, entries: readonly unknown[], trail: (string | number)[], add: Add): void {
  if (entry.kind !== 'object') return;
  for (let index = 0; index < entries.length; index += 1) {
    trail.push(index);
    checkObject(entry, entries[index] as object, trail, add);
    trail.pop();
  }
}
