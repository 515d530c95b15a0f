import { Annotations, isFrozen, type MachineDeployment, MachineDeploymentConditions, type MachineSet } from '@mcm/api';
import { type AnyCondition, findCondition } from '../../objects/conditions.ts';
import { type IntOrPercent, resolveIntOrPercent } from '../../objects/limits.ts';

/** Type of the condition of a frozen set, and of its deployment. */
export const FROZEN = MachineDeploymentConditions.Frozen;

/** Options of the overshooting check. */
export interface OvershootOptions {
  /** Machines above replicas and surge at which a set is frozen (`--safety-up`). */
  readonly safetyUp: number;
  /** How far below that number it is thawed (`--safety-down`). */
  readonly safetyDown: number;
  /** How soon a frozen set is looked at again without an event (`--machine-safety-overshooting-period`). */
  readonly periodMs: number;
}

/** Freeze at `upper` machines or more, thaw at `lower` or fewer. */
export interface Thresholds {
  readonly upper: number;
  readonly lower: number;
}

/**
 * The numbers at which a set is frozen and thawed (docs/compatibility/rules-deployments.md §8.1, A). The surge is the one that the spec names, whatever
 * the strategy; a deployment without any counts as surge 0, where the original's check fails for every set after it
 * (BUG-9 of docs/compatibility/rules-deployments.md). `safetyDown` 0 counts as 1.
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
  // At one and the same number a set would be frozen and thawed in turn for ever (F-12 of docs/compatibility/rules-deployments.md).
  return { upper, lower: upper - Math.max(options.safetyDown, 1) };
}

/** What is to be done about a set. */
export type Verdict = 'freeze' | 'thaw' | 'leave';

/** Whether the object carries the label or the condition: half a freeze is one to be finished or undone. */
export const hasMark = (
  object: MachineSet | MachineDeployment,
  conditions: readonly AnyCondition[] | undefined,
): boolean => isFrozen(object) || findCondition(conditions ?? [], FROZEN) !== undefined;

/** Whether somebody asks by annotation that it be thawed. */
export const asksForThaw = (object: MachineSet | MachineDeployment | undefined): boolean =>
  object?.metadata.annotations?.[Annotations.Unfreeze] !== undefined;

/**
 * Decides whether a set stops making machines. A request to unfreeze, on the set or its deployment, thaws it once; when
 * there are still too many machines it is frozen again by the next look.
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
