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

/**
 * Counts deletions against the budgets as they are known, for an API server that does not keep them itself. A budget has
 * room again when it is judged anew.
 */
export class BudgetRoom {
  /** By the object as the cache has it: a budget that changes is another object. */
  readonly #left = new WeakMap<PodDisruptionBudget, number>();

  /** Whether one more pod may go; a yes takes one off each of its budgets. */
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
