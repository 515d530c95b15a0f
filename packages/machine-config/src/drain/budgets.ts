import { type LabelSelector, selectorMatches } from '@mcm/api';
import type { Change, Pod, PodDisruptionBudget } from '@mcm/kube';

/**
 * Returns the number of additional pods that may be evicted after a change of a disruption budget.
 * @returns 0 if the disruption controller has not updated the status of the budget yet
 */
export function budgetGivesWay(change: Change<PodDisruptionBudget>): number {
  if (change.type === 'deleted') return Number.POSITIVE_INFINITY;
  const { metadata, status } = change.object;
  if (status?.observedGeneration !== metadata.generation) return 0;
  return Math.max(status?.disruptionsAllowed ?? 0, 0);
}

export const isUnder = ({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean =>
  metadata.namespace === pod.metadata.namespace &&
  selectorMatches(spec.selector as LabelSelector | undefined, pod.metadata.labels);

/** Counts deletions of pods against PodDisruptionBudgets, for an API server without an eviction API. */
export class BudgetRoom {
  readonly #left = new WeakMap<PodDisruptionBudget, number>();

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
