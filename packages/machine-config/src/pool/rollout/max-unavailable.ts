import { parseIntOrPercent } from '@mcm/api';
import { HINT_MARK } from '../../config/hint.ts';
import { ARBITER_POOL } from '../../constants/names.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** The error for a maxUnavailable that is neither a number nor a percentage. */
export class MaxUnavailableError extends Error {
  override readonly name = 'MaxUnavailableError';
}

export interface MaxUnavailableVerdict {
  readonly problem?: string;
  readonly note?: string;
}

const HINT = 'set a number such as 1, or a percentage from "1%" to "100%"';
const WHOLE = 100;

export function checkMaxUnavailable({ metadata, spec }: MachineConfigPool): MaxUnavailableVerdict {
  const value = spec?.maxUnavailable;
  if (metadata.name === ARBITER_POOL || value === undefined || value === null) return {};
  const parsed = parseIntOrPercent(value);
  const setting = `spec.maxUnavailable of MachineConfigPool ${metadata.name} is ${JSON.stringify(value)}`;
  const refused = (problem: string) => ({ problem: `${problem}: no node gets a target${HINT_MARK}${HINT}` });
  if (!parsed) return refused(`${setting}, which is neither a number nor a percentage`);
  if (parsed.value < 0) return refused(`${setting}, less than 0`);
  if (parsed.kind === 'percent' && parsed.value > WHOLE) return refused(`${setting}, more than 100%`);
  if (parsed.value > 0) return {};
  return {
    note: `${setting}, which counts as 1, so that every pool makes progress${HINT_MARK}to pause the pool, set spec.paused`,
  };
}

/**
 * Returns the maximum number of unavailable nodes of a pool. An absent value of maxUnavailable, or a value that rounds
 * to 0, counts as 1, so that every pool makes progress. For the pool of the arbiter, the maximum is always 1.
 * @throws
 * MaxUnavailableError
 */
export function maxUnavailableOf({ metadata, spec }: MachineConfigPool, nodeCount: number): number {
  const value = spec?.maxUnavailable;
  if (metadata.name === ARBITER_POOL || value === undefined || value === null) return 1;
  const parsed = parseIntOrPercent(value);
  if (!parsed) {
    throw new MaxUnavailableError(
      `maxUnavailable: invalid value for IntOrString: ${JSON.stringify(value)} of MachineConfigPool ${metadata.name} ` +
        'is neither a number nor a percentage such as "10%"',
    );
  }
  const count = parsed.kind === 'count' ? parsed.value : floorPercent(nodeCount, parsed.value);
  return count === 0 ? 1 : count;
}

/** Rounds a percentage down like the original; a negative percentage allows no node. */
const floorPercent = (total: number, percent: number): number => Math.floor((total * percent) / 100);
