import { Annotations, isFrozen, type MachineDeployment, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import { type AnyCondition, findCondition } from '../../objects/conditions.ts';
import { type IntOrPercent, resolveIntOrPercent } from '../../objects/limits.ts';

export const FROZEN = MachineDeploymentConditions.Frozen;

/** The options of the overshoot check, which limits the number of machines of a MachineSet. */
export interface OvershootOptions {
  readonly safetyUp: number;
  readonly safetyDown: number;
  readonly periodMs: number;
}

/** A set with `upper` or more machines freezes, until the set has `lower` or fewer machines. */
export interface Thresholds {
  readonly upper: number;
  readonly lower: number;
}

/**
 * Returns the numbers of machines at which a freeze starts and ends (docs/compatibility/rules-deployments.md §8.1, A).
 * The surge is the `maxSurge` of the spec or zero, for every strategy. In the original, a deployment without a surge
 * makes the check of all following sets fail (BUG-9).
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
  // With equal limits, the freeze would start and end again and again (F-12).
  return { upper, lower: upper - Math.max(options.safetyDown, 1) };
}

/** The decision about the freeze of a set. */
export type Verdict = 'freeze' | 'thaw' | 'leave';

/** A freeze has two marks: a label and a condition. */
export const hasMark = (
  object: MachineSet | MachineDeployment,
  conditions: readonly AnyCondition[] | undefined,
): boolean => isFrozen(object) || findCondition(conditions ?? [], FROZEN) !== undefined;

export const asksForThaw = (object: MachineSet | MachineDeployment | undefined): boolean =>
  object?.metadata.annotations?.[Annotations.Unfreeze] !== undefined;

/**
 * Decides whether a freeze starts or ends. An annotation on the set or its deployment ends the freeze once. If the set
 * still has too many machines, the next reconcile starts the freeze again.
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
