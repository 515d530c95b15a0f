import { Annotations, isFrozen, type MachineDeployment, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import { type AnyCondition, findCondition } from '../../objects/conditions.ts';
import { type IntOrPercent, resolveIntOrPercent } from '../../objects/limits.ts';

export const FROZEN = MachineDeploymentConditions.Frozen;

/** Options of the overshoot check. */
export interface OvershootOptions {
  /** A set freezes when it has this number of machines above replicas and surge (`--safety-up`). */
  readonly safetyUp: number;
  /** The freeze ends when the set has this number of machines less than at its start (`--safety-down`). */
  readonly safetyDown: number;
  /** Time after which a frozen set is reconciled without an event (`--machine-safety-overshooting-period`). */
  readonly periodMs: number;
}

/**
 * The limits of a freeze. A set freezes if it has `upper` machines or more. The freeze ends if the set has `lower`
 * machines or fewer.
 */
export interface Thresholds {
  readonly upper: number;
  readonly lower: number;
}

/**
 * Returns the numbers at which a freeze starts and ends (docs/compatibility/rules-deployments.md §8.1, A). The surge is
 * the `maxSurge` of the spec for every strategy, and zero if absent. In the original, a deployment without a surge
 * makes the check fail for all following sets (BUG-9). `safetyDown` 0 is treated as 1.
 */
export function thresholds(
  set: MachineSet,
  deployment: MachineDeployment | undefined,
  options: Pick<OvershootOptions, 'safetyUp' | 'safetyDown'>,
): Thresholds {
  const replicas = deployment?.spec.replicas ?? 0;
  const { rollingUpdate, inPlaceUpdate } = deployment?.spec.strategy ?? {};
  const maxSurge: IntOrPercent | undefined = (rollingUpdate ?? inPlaceUpdate)?.maxSurge;
  const surge = resolveIntOrPercent(maxSurge, replicas, 'up') ?? 0;
  const upper = (deployment ? replicas + surge : 2 * (set.spec.replicas ?? 0)) + options.safetyUp;
  // If both numbers were equal, the freeze would start and end again forever (F-12).
  return { upper, lower: upper - Math.max(options.safetyDown, 1) };
}

/** The decision about the freeze of a set. */
export type Verdict = 'freeze' | 'thaw' | 'leave';

/** Whether the object has any mark of a freeze. A freeze with only the label or only the condition is incomplete. */
export const hasMark = (
  object: MachineSet | MachineDeployment,
  conditions: readonly AnyCondition[] | undefined,
): boolean => isFrozen(object) || findCondition(conditions ?? [], FROZEN) !== undefined;

export const asksForThaw = (object: MachineSet | MachineDeployment | undefined): boolean =>
  object?.metadata.annotations?.[Annotations.Unfreeze] !== undefined;

/**
 * Decides about the freeze of a set; an annotation on the set or its deployment ends the freeze once. If there are
 * still too many machines, the next reconcile starts the freeze again.
 */
export function decideSet(
  set: MachineSet,
  deployment: MachineDeployment | undefined,
  machines: number,
  limits: Thresholds,
): Verdict {
  const marked = hasMark(set, set.status?.machineSetCondition);
  if (asksForThaw(set) || (asksForThaw(deployment) && marked)) return 'thaw';
  const complete = isFrozen(set) && findCondition(set.status?.machineSetCondition ?? [], FROZEN) !== undefined;
  if (machines >= limits.upper && !complete) return 'freeze';
  return marked && machines <= limits.lower ? 'thaw' : 'leave';
}

export interface OvershootInput extends Pick<OvershootOptions, 'safetyUp' | 'safetyDown'> {
  readonly set: MachineSet;
  readonly deployment?: MachineDeployment | undefined;
  readonly machines: number;
}

export interface OvershootPlan {
  readonly verdict: Verdict;
  readonly limits: Thresholds;
}

export function planOvershoot(input: OvershootInput): OvershootPlan {
  const { set, deployment, machines } = input;
  const limits = thresholds(set, deployment, input);
  return { verdict: decideSet(set, deployment, machines, limits), limits };
}
