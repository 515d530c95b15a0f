import { Labels, type Machine } from '@mcm/api';
import { resolveIntOrPercent } from '../objects/limits.ts';
import { isUndrained } from '../objects/machines.ts';
import { after } from '../values/timestamps.ts';

/**
 * What limits replacements together: the MachineDeployment by the label `name`, else the owning set, else the
 * namespace. (In the original machines without the label are never limited.)
 */
export const replacementGroup = (machine: Machine): string => {
  const { labels, ownerReferences, namespace = '' } = machine.metadata;
  const deployment = labels?.[Labels.DeploymentName];
  if (deployment) return `${namespace}/deployment/${deployment}`;
  const owner = ownerReferences?.find((reference) => reference.controller);
  return owner ? `${namespace}/owner/${owner.uid}` : `${namespace}/machine/${machine.metadata.name}`;
};

/** Phases in which a machine is being made: nobody runs on it yet. */
const BEING_MADE: ReadonlySet<string> = new Set(['', 'Pending', 'CrashLoopBackOff', 'Available']);

/**
 * Disruptions of a group under way, whatever their cause (repair, rollout, scale-in, in-place update, deletion by
 * hand): every machine that is neither Running nor Unknown, unless it is preserved. The original counts a Terminating
 * one twice, which makes no difference to its limit of 1. Source: machine_util.go, isMarkableForFailure. A machine whose
 * drain cannot end does not count: it would keep every other unhealthy machine of the group from its replacement.
 * @param options.making Whether machines that are being made count.
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
 * Machines of a group that may be replaced at once: a count or a percentage of the group rounded down, and at least one.
 * @param limit `--max-unhealthy-replacements`.
 */
export const replacementLimit = (limit: number | string, groupSize: number): number =>
  Math.max(resolveIntOrPercent(limit, groupSize, 'down') ?? 1, 1);

/** Default of `--max-unhealthy-replacements`: the original's constant. */
export const MAX_UNHEALTHY_REPLACEMENTS = 1;

/**
 * Until when an unhealthy machine waits for machines that are being made: twice its health timeout. A rollout whose
 * new machines never come would otherwise wait for the repair, and the repair for the rollout (incident 14).
 */
export const waitsForMaking = (since: string | undefined, healthTimeoutMs: number): Date =>
  after(since, 2 * healthTimeoutMs);
