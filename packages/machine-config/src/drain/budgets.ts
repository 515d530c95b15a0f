import { type LabelSelector, selectorMatches } from '@mcm/api';
import type { Change, Pod, PodDisruptionBudget } from '@mcm/kube';

/**
 * Returns the number of additional pods that may be evicted after a change of a budget.
 * @returns 0 if the change allows no eviction, or if the disruption controller has not updated the status yet. The
 *   update of the status is a separate change.
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

/**
 * Counts deletions of pods against PodDisruptionBudgets, for an API server without an eviction API. After a change of
 * its status, a budget allows evictions again.
 */
export class BudgetRoom {
  /**
   * The number of evictions that each budget still allows. A changed budget is a new object, so its count starts again.
   */
  readonly #left = new WeakMap<PodDisruptionBudget, number>();

  /**
   * Uses one allowed eviction of each budget that selects the pod. If one of the budgets allows no eviction, the counts
   * stay unchanged.
   */
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
