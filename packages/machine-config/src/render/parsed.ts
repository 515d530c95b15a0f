import { type IgnitionConfig, IgnitionError, readIgnition } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';

/** Objects of caches are shared and never changed: what one of them was read into holds as long as it lives. */
const cache = new WeakMap<object, IgnitionConfig | IgnitionError>();

/**
 * The Ignition config of a MachineConfig as version 3.5; undefined if it has none.
 * @throws IgnitionError
 */
export function ignitionOf({ spec }: MachineConfig): IgnitionConfig | undefined {
  const raw: unknown = spec?.config;
  if (raw === undefined || raw === null) return undefined;
  if (typeof raw !== 'object') return readIgnition(raw);
  const known = cache.get(raw);
  if (known instanceof IgnitionError) throw known;
  return known ?? read(raw);
}

function read(raw: object): IgnitionConfig {
  try {
    const config = readIgnition(raw);
    cache.set(raw, config);
    return config;
  } catch (error) {
    if (error instanceof IgnitionError) cache.set(raw, error);
    throw error;
  }
}
