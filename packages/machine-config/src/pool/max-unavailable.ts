import { parseIntOrPercent } from '@mcm/api';
import { ARBITER_POOL } from '../constants/names.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

/** A maxUnavailable that is neither a count nor a percentage. */
export class MaxUnavailableError extends Error {
  override readonly name = 'MaxUnavailableError';
}

/**
 * How many nodes of a pool may be unavailable at once. One if it says nothing or comes to none, so that every pool gets
 * on; always one for the arbiter's.
 * @throws MaxUnavailableError
 */
export function maxUnavailableOf({ metadata, spec }: MachineConfigPool, nodeCount: number): number {
  const value = spec?.maxUnavailable;
  if (metadata.name === ARBITER_POOL || value === undefined || value === null) return 1;
  const parsed = parseIntOrPercent(value);
  if (!parsed) {
    throw new MaxUnavailableError(
      `maxUnavailable: invalid value for IntOrString: ${JSON.stringify(value)} of MachineConfigPool ${metadata.name} ` +
        'is neither a count nor a percentage such as "10%"',
    );
  }
  const count = parsed.kind === 'count' ? parsed.value : floorPercent(nodeCount, parsed.value);
  return count === 0 ? 1 : count;
}

/** Rounded towards less, also below zero as the original does it: a negative share allows nothing. */
const floorPercent = (total: number, percent: number): number => Math.floor((total * percent) / 100);
