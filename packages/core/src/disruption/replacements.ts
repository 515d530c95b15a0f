import { Labels, type Machine } from '@mcm/api';
import { resolveIntOrPercent } from '../objects/limits.ts';
import { isUndrained } from '../objects/machines.ts';
import { after } from '../values/timestamps.ts';

/**
 * Returns the replacement group of a machine. A machine without a deployment label and an owner is the only member of
 * its group. The original does not limit replacements of machines without the label `name`.
 */
export const replacementGroup = (machine: Machine): string => {
  const { labels, ownerReferences, namespace = '' } = machine.metadata;
  const deployment = labels?.[Labels.DeploymentName];
  if (deployment) return `${namespace}/deployment/${deployment}`;
  const owner = ownerReferences?.find((reference) => reference.controller);
  return owner ? `${namespace}/owner/${owner.uid}` : `${namespace}/machine/${machine.metadata.name}`;
};

const BEING_MADE: ReadonlySet<string> = new Set(['', 'Pending', 'CrashLoopBackOff', 'Available']);

/**
 * Counts all disruptions of a group. A machine whose drain cannot end would block all replacements of its group, so the
 * machine does not count as a disruption. The original counts a Terminating machine twice. With the limit 1 of the
 * original, the second count has no effect. Source: machine_util.go, isMarkableForFailure.
 */
export function countReplacements(machines: Iterable<Machine>, options: { readonly making: boolean }): number {
  let count = 0;
  for (const machine of machines) {
    if (isUndrained(machine)) continue;
    const { status } = machine;
    const phase = status?.currentStatus?.phase ?? '';
    if (phase === 'Running' || phase === 'Unknown') continue;
    if (BEING_MADE.has(phase) && !options.making) continue;
    if (phase === 'Terminating' || !status?.currentStatus?.preserveExpiryTime) count++;
  }
  return count;
}

/** Returns the number of machines of a group that may be replaced at the same time, at least one. */
export const replacementLimit = (limit: number | string, groupSize: number): number =>
  Math.max(resolveIntOrPercent(limit, groupSize, 'down') ?? 1, 1);

/** In the original, the limit of replacements is a constant. */
export const MAX_UNHEALTHY_REPLACEMENTS = 1;

/**
 * Returns the time until which an unhealthy machine waits for machines that are being created. The wait takes at most
 * twice the health timeout. Without a time limit, a replacement and a rollout could wait for each other forever
 * (incident 14).
 */
export const waitsForMaking = (since: string | undefined, healthTimeoutMs: number): Date =>
  after(since, 2 * healthTimeoutMs);
