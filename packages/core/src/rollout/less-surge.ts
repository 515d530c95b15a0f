import type { Machine } from '@mcm/api';
import type { Limits } from '../objects/limits.ts';
import { isTerminating } from '../objects/machines.ts';

export const waitsForCapacity = (machine: Machine): boolean =>
  !machine.spec.providerID &&
  !isTerminating(machine) &&
  machine.status?.lastOperation?.errorCode === 'ResourceExhausted';

/**
 * Each machine of the current set that waits for capacity allows one more unavailable machine, up to `maxSurge` -
 * `minSurge`. The deletion of one more old machine frees capacity in the cloud.
 * @param minSurge Undefined if the rollout waits for its whole surge
 * @param machines The machines of the current set
 */
export function withLessSurge(limits: Limits, minSurge: number | undefined, machines: readonly Machine[]): Limits {
  if (minSurge === undefined) return limits;
  const missing = Math.min(machines.filter(waitsForCapacity).length, limits.annotatedSurge - minSurge);
  return missing <= 0 ? limits : { ...limits, unavailable: limits.unavailable + missing };
}
