import { isRecord } from '@mcm/kube';
import { unknownField } from '../kinds/unknown-fields.ts';
import type { Plan } from './plan/plan.ts';
import { planOfVersion, readVersion } from './versions/versions.ts';

const known = new WeakMap<object, readonly string[]>();

/** The reader drops unknown fields, as the original does. */
export function unknownIgnitionFields(raw: unknown): readonly string[] {
  if (!isRecord(raw) || !isRecord(raw.ignition) || typeof raw.ignition.version !== 'string') return [];
  const version = readVersion(raw.ignition.version);
  const found =
    known.get(raw) ?? (typeof version === 'string' ? [] : unknownIn(planOfVersion(version), raw, 'spec.config'));
  known.set(raw, found);
  return found;
}

function unknownIn(plan: Plan, value: unknown, path: string): readonly string[] {
  if (plan.kind === 'list') {
    const entries: readonly unknown[] = Array.isArray(value) ? value : [];
    return entries.flatMap((entry, index) => unknownIn(plan.entry, entry, `${path}.${index}`));
  }
  if (plan.kind !== 'object' || !isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const field = plan.byName.get(key) ?? plan.byName.get(key.toLowerCase());
    const at = `${path}.${key}`;
    if (field) return unknownIn(field.plan, inner, at);
    const names = plan.fields.map(({ name }) => name);
    return unknownField(at, names);
  });
}
