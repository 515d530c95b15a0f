import { type LabelSelector, selectorMatches } from '@mcm/api';
import type { Change, Pod, PodDisruptionBudget } from '@mcm/kube';

/**
 * How many pods may go now that could not before, by what a change of a budget says.
 * @returns 0 for a change that gives no room, or that nobody has judged yet: the judgement is a change of its own
 */
export function budgetGivesWay(change: Change<PodDisruptionBudget>): number {
  if (change.type === 'deleted') return Number.POSITIVE_INFINITY;
  const { metadata, status } = change.object;
  if (status?.observedGeneration !== metadata.generation) return 0;
  return Math.max(status?.disruptionsAllowed ?? 0, 0);
}

/** Whether a budget speaks for a pod. */
export const isUnder = ({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean =>
  metadata.namespace === pod.metadata.namespace &&
  selectorMatches(spec.selector as LabelSelector | undefined, pod.metadata.labels);
