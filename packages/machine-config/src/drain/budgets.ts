import { type LabelSelector, selectorMatches } from '@mcm/api';
import type { Change, Pod, PodDisruptionBudget } from '@mcm/kube';

/**
 * The number of additional pods that a change of a budget allows.
 * @returns 0 for a change without room, and for one that the disruption controller has not processed yet: its result is another change
 */
export function budgetGivesWay(change: Change<PodDisruptionBudget>): number {
  if (change.type === 'deleted') return Number.POSITIVE_INFINITY;
  const { metadata, status } = change.object;
  if (status?.observedGeneration !== metadata.generation) return 0;
  return Math.max(status?.disruptionsAllowed ?? 0, 0);
}

/** Whether a budget selects a pod. */
export const isUnder = ({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean =>
  metadata.namespace === pod.metadata.namespace &&
  selectorMatches(spec.selector as LabelSelector | undefined, pod.metadata.labels);

/** Counts deletions against the known budgets, for an API server that does not enforce them. A budget has room again after its status changes. */
export class BudgetRoom {
  /** By the object of the cache: a changed budget is another object. */
  readonly #left = new WeakMap<PodDisruptionBudget, number>();

  /** Whether one more pod may be deleted. If so, it reduces the room of each of its budgets by one. */
  take(pod: Pod, budgets: Iterable<PodDisruptionBudget>): boolean {
    const own = [...budgets].filter((budget) => isUnder(budget, pod));
    if (own.some((budget) => this.#leftOf(budget) <= 0)) return false;
    for (const budget of own) this.#left.set(budget, this.#leftOf(budget) - 1);
    return true;
  }

  #leftOf(budget: PodDisruptionBudget): number {
    return this.#left.get(budget) ?? budget.status?.disruptionsAllowed ?? 0;
  }
}
