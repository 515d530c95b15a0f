import { Labels, type Machine } from '@mcm/api';
import { resolveIntOrPercent } from '../objects/limits.ts';
import { isUndrained } from '../objects/machines.ts';
import { after } from '../values/timestamps.ts';

/**
 * Returns the key of the group that shares one limit for replacements. The group is the MachineDeployment in the label
 * `name`, or the owner if there is no label. A machine without label and owner is the only member of its group. The
 * original does not limit machines without the label.
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
 * Counts all disruptions of a group. A machine counts as a disruption if its phase is neither Running nor Unknown,
 * unless it is preserved. A machine whose drain cannot end does not count, because it would block all other
 * replacements of the group. The original counts a Terminating machine twice. With the limit 1 of the original, the
 * double count has no effect. Source: machine_util.go, isMarkableForFailure.
 * @param options.making whether machines that are being created count.
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

/**
 * Returns the number of machines of a group that may be replaced at the same time, at least one.
 * @param limit `--max-unhealthy-replacements`: a count, or a percentage of the group, rounded down.
 */
export const replacementLimit = (limit: number | string, groupSize: number): number =>
  Math.max(resolveIntOrPercent(limit, groupSize, 'down') ?? 1, 1);

/** Default of `--max-unhealthy-replacements`. In the original, the limit of replacements is a constant. */
export const MAX_UNHEALTHY_REPLACEMENTS = 1;

/**
 * An unhealthy machine waits for machines in creation, for at most twice the health timeout. Without a limit, a
 * replacement and a rollout could wait for each other forever (incident 14).
 */
export const waitsForMaking = (since: string | undefined, healthTimeoutMs: number): Date =>
  after(since, 2 * healthTimeoutMs);
