import { parseIntOrPercent } from '@mcm/api';
import { CURE_MARK } from '../../config/cure.ts';
import { ARBITER_POOL } from '../../constants/names.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** A maxUnavailable that is neither a count nor a percentage. */
export class MaxUnavailableError extends Error {
  override readonly name = 'MaxUnavailableError';
}

/** What is to be said about a pool's maxUnavailable; nothing: it is what it says. */
export interface MaxUnavailableVerdict {
  /** Why no node is told anything. */
  readonly problem?: string;
  /** What else it counts as. */
  readonly note?: string;
}

const CURE = 'give it a count such as 1, or a percentage from "1%" to "100%"';
const WHOLE = 100;

/**
 * Whether a pool's maxUnavailable makes sense. The original takes a share below nothing or beyond all as it is, and tells of
 * a malformed one in its log only.
 */
export function judgeMaxUnavailable({ metadata, spec }: MachineConfigPool): MaxUnavailableVerdict {
  const value = spec?.maxUnavailable;
  if (metadata.name === ARBITER_POOL || value === undefined || value === null) return {};
  const parsed = parseIntOrPercent(value);
  const what = `spec.maxUnavailable of MachineConfigPool ${metadata.name} is ${JSON.stringify(value)}`;
  const refused = (why: string) => ({ problem: `${what}, ${why}: no node is told anything${CURE_MARK}${CURE}` });
  if (!parsed) return refused('neither a count nor a percentage');
  if (parsed.value < 0) return refused('less than none');
  if (parsed.kind === 'percent' && parsed.value > WHOLE) return refused('more than all');
  if (parsed.value > 0) return {};
  return { note: `${what}, which counts as 1: every pool gets on${CURE_MARK}to hold its nodes set spec.paused` };
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
