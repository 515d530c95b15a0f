import { type LabelSelector, selectorMatches } from '@mcm/api';
import { keyOf, type PodDisruptionBudget } from '@mcm/kube';
import type { DrainBudget, DrainPod } from './observation.ts';

/**
 * A budget that can never allow a disruption although all its pods are there, such as `maxUnavailable: 0`. With pods
 * missing or disrupted it may yet. Source: drain.go, isMisconfiguredPdb.
 */
export function isMisconfigured(budget: PodDisruptionBudget): boolean {
  const { status } = budget;
  if (!status || budget.metadata.generation !== status.observedGeneration) return false;
  return (
    (status.expectedPods ?? 0) > 0 &&
    (status.currentHealthy ?? 0) >= (status.expectedPods ?? 0) &&
    Object.keys((status as { disruptedPods?: object }).disruptedPods ?? {}).length === 0 &&
    (status.disruptionsAllowed ?? 0) === 0
  );
}

/** The part of a budget that decisions need. */
export const drainBudget = (budget: PodDisruptionBudget): DrainBudget => ({
  key: keyOf(budget),
  resourceVersion: budget.metadata.resourceVersion,
  allowed: budget.status?.disruptionsAllowed ?? 0,
  stale: budget.metadata.generation !== budget.status?.observedGeneration,
  misconfigured: isMisconfigured(budget),
  sparesUnready:
    budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    (budget.status?.currentHealthy ?? 0) >= (budget.status?.desiredHealthy ?? 0),
});

/** Whether a budget selects a pod of its namespace; an empty selector of policy/v1 selects every pod. */
export const budgetSelects = (
  budget: PodDisruptionBudget,
  labels: Readonly<Record<string, string>> | undefined,
): boolean => selectorMatches(budget.spec.selector as LabelSelector | undefined, labels);

/** Budgets do not speak for pods that have ended or never began; the API server evicts those regardless. */
export const protectedByBudgets = (pod: DrainPod): boolean =>
  pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && pod.phase !== 'Pending';

/** The budget that forbids to evict the pod right now, by what the cache knows; the server has the last word. */
export const blockingBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => !budget.stale && budget.allowed <= 0 && (pod.ready || !budget.sparesUnready))
    : undefined;

/** Says whether budgets have changed between two looks. */
export const budgetVersions = (pod: DrainPod): string =>
  pod.budgets.map(({ key, resourceVersion }) => `${key}@${resourceVersion}`).join(',');
