import { type LabelSelector, selectorMatches } from '@mcm/api';
import { keyOf, type PodDisruptionBudget } from '@mcm/kube';
import type { DrainBudget, DrainPod } from './observation.ts';

/**
 * Returns true if a budget can never allow a disruption. Either it needs every selected pod (`maxUnavailable: 0`,
 * `minAvailable` of all, or an equivalent percentage). Or all its pods are healthy and it still allows none, which
 * includes a budget that counts none, see {@link countsNone}. With disrupted pods it may allow one later. Source:
 * drain.go, isMisconfiguredPdb; the original checks only the second case, and only after a refusal.
 */
export function isMisconfigured(budget: PodDisruptionBudget): boolean {
  const { status } = budget;
  if (!status || budget.metadata.generation !== status.observedGeneration) return false;
  const expected = status.expectedPods ?? 0;
  const healthy = status.currentHealthy ?? 0;
  return (
    (countsNone(budget) || (expected > 0 && (healthy >= expected || (status.desiredHealthy ?? 0) >= expected))) &&
    Object.keys((status as { disruptedPods?: object }).disruptedPods ?? {}).length === 0 &&
    (status.disruptionsAllowed ?? 0) === 0
  );
}

/**
 * `maxUnavailable` and percentages refer to the replicas of the pods' controllers. Pods without a controller do not
 * count, so a budget over only such pods never allows a disruption. Source: kube-controller-manager, disruption.go.
 */
const countsNone = ({ status }: PodDisruptionBudget): boolean =>
  (status?.expectedPods ?? 0) === 0 && (status?.currentHealthy ?? 0) > 0;

/** The rule of a budget as written, with its effect. */
function ruleOf(budget: PodDisruptionBudget): string | undefined {
  const { spec, status } = budget;
  const { minAvailable, maxUnavailable } = spec;
  const written =
    maxUnavailable !== undefined
      ? `maxUnavailable: ${maxUnavailable}`
      : minAvailable !== undefined
        ? `minAvailable: ${minAvailable}`
        : undefined;
  if (written === undefined || !status) return written;
  if (countsNone(budget))
    return `${written} needs pods with a controller, and its pods have none; write minAvailable as a number`;
  return `${written}, ${status.desiredHealthy ?? 0} of ${status.expectedPods ?? 0} pods needed, ${status.currentHealthy ?? 0} healthy`;
}

const nothingHealthy = ({ status }: PodDisruptionBudget): boolean =>
  (status?.desiredHealthy ?? 0) > 0 && (status?.currentHealthy ?? 0) === 0;

/** The part of a budget that decisions need. */
export const drainBudget = (budget: PodDisruptionBudget): DrainBudget => ({
  ...ruleField(ruleOf(budget)),
  nothingHealthy: nothingHealthy(budget) ? true : undefined,
  key: keyOf(budget),
  resourceVersion: budget.metadata.resourceVersion,
  allowed: budget.status?.disruptionsAllowed ?? 0,
  stale: budget.metadata.generation !== budget.status?.observedGeneration,
  misconfigured: isMisconfigured(budget),
  sparesUnready:
    budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    (budget.status?.currentHealthy ?? 0) >= (budget.status?.desiredHealthy ?? 0),
});

const ruleField = (rule: string | undefined): { readonly rule?: string } => (rule === undefined ? {} : { rule });

/** Returns true if a budget selects a pod of its namespace. An empty selector of policy/v1 selects every pod. */
export const budgetSelects = (
  budget: PodDisruptionBudget,
  labels: Readonly<Record<string, string>> | undefined,
): boolean => selectorMatches(budget.spec.selector as LabelSelector | undefined, labels);

/** Budgets do not protect pods that have ended or never started. The API server evicts them in any case. */
export const protectedByBudgets = (pod: DrainPod): boolean =>
  pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && pod.phase !== 'Pending';

/** The budget in the cache that forbids the eviction now. The server decides. */
export const blockingBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => !budget.stale && budget.allowed <= 0 && (pod.ready || !budget.sparesUnready))
    : undefined;

/** The budget that will never allow the eviction, unless its policy allows evicting pods that are not ready. */
export const misconfiguredBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => budget.misconfigured && (pod.ready || !budget.sparesUnready))
    : undefined;

/** Changes when the budgets change. */
export const budgetVersions = (pod: DrainPod): string =>
  pod.budgets.map(({ key, resourceVersion }) => `${key}@${resourceVersion}`).join(',');
