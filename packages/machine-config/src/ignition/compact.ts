import type { IgnitionConfig } from './versions/schema.ts';

/** Removes empty objects and empty lists from a config. */
export const compactIgnition = (config: IgnitionConfig): IgnitionConfig => compact(config) as IgnitionConfig;

function compact(value: unknown): unknown {
  if (Array.isArray(value)) return compactList(value);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  let result: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const field = fields[name];
    const inner = compact(field);
    if (inner === field && !isEmpty(inner)) continue;
    result ??= { ...fields };
    if (isEmpty(inner)) delete result[name];
    else result[name] = inner;
  }
  return result ?? value;
}

function compactList(entries: readonly unknown[]): readonly unknown[] {
  let result: unknown[] | undefined;
  for (let index = 0; index < entries.length; index += 1) {
    const inner = compact(entries[index]);
    if (inner === entries[index]) continue;
    result ??= entries.slice();
    result[index] = inner;
  }
  return result ?? entries;
}

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length === 0
    : typeof value === 'object' && value !== null && Object.keys(value).length === 0;
