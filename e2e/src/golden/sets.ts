import type { GoldenSet } from './common/set.ts';
import { awsDriver } from './drivers/aws/index.ts';
import { azureDriver } from './drivers/azure/index.ts';
import { gcpDriver } from './drivers/gcp/index.ts';
import { machineConfig } from './machine-config/index.ts';
import { mcmFlags } from './mcm/flags.ts';
import { mcmMetrics } from './mcm/metrics.ts';
import { takeover } from './takeover/index.ts';

const SETS: readonly GoldenSet[] = [takeover, awsDriver, gcpDriver, azureDriver, machineConfig, mcmFlags, mcmMetrics];

/**
 * Returns the sets with the given names.
 * @throws Error with the known names if a name is unknown
 */
export function findSets(names: readonly string[]): readonly GoldenSet[] {
  if (names.length === 0) return SETS;
  return names.map((name) => {
    const set = SETS.find((known) => known.name === name);
    if (!set)
      throw new Error(`unknown set ${JSON.stringify(name)}; known: ${SETS.map((known) => known.name).join(', ')}`);
    return set;
  });
}
