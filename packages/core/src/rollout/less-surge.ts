import type { Machine } from '@mcm/api';
import type { Limits } from '../objects/limits.ts';
import { isTerminating } from '../objects/machines.ts';

export const waitsForCapacity = (machine: Machine): boolean =>
  !machine.spec.providerID &&
  !isTerminating(machine) &&
  machine.status?.lastOperation?.errorCode === 'ResourceExhausted';

/**
 * Allows one more unavailable machine for each new machine that waits for capacity, up to `maxSurge` - `minSurge`. The
 * deletion of an old machine frees capacity in the cloud.
 * @param minSurge The minimum surge, or undefined if the rollout waits for its whole surge
 * @param machines The machines of the current set
 */
export function withLessSurge(limits: Limits, minSurge: number | undefined, machines: readonly Machine[]): Limits {
  if (minSurge === undefined) return limits;
  const missing = Math.min(machines.filter(waitsForCapacity).length, limits.annotatedSurge - minSurge);
  return missing <= 0 ? limits : { ...limits, unavailable: limits.unavailable + missing };
}
