import {
  type IgnitionConfig,
  IgnitionError,
  type ParsedIgnition,
  parseIgnition,
  readIgnition,
  unifyIgnition,
} from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';

/** The objects in caches never change, so a result is valid for the lifetime of its object. */
const parsed = new WeakMap<object, ParsedIgnition | IgnitionError>();
const unified = new WeakMap<object, IgnitionConfig | IgnitionError>();

function remembered<T extends object>(cache: WeakMap<object, T | IgnitionError>, key: object, work: () => T): T {
  const known = cache.get(key);
  if (known instanceof IgnitionError) throw known;
  if (known !== undefined) return known;
  try {
    const made = work();
    cache.set(key, made);
    return made;
  } catch (error) {
    if (error instanceof IgnitionError) cache.set(key, error);
    throw error;
  }
}

export const parsedIgnition = (raw: unknown): ParsedIgnition =>
  typeof raw === 'object' && raw !== null ? remembered(parsed, raw, () => parseIgnition(raw)) : parseIgnition(raw);

/**
 * Returns the Ignition config in version 3.5, or undefined if the MachineConfig has none.
 * @throws IgnitionError
 */
export function ignitionOf({ spec }: Pick<MachineConfig, 'spec'>): IgnitionConfig | undefined {
  const raw: unknown = spec?.config;
  if (raw === undefined || raw === null) return undefined;
  if (typeof raw !== 'object') return readIgnition(raw);
  return remembered(unified, raw, () => unifyIgnition(() => parsedIgnition(raw)));
}
