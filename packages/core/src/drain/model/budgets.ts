import { type LabelSelector, selectorMatches } from '@mcm/api';
import { keyOf, type PodDisruptionBudget } from '@mcm/kube';
import type { DrainBudget, DrainPod } from './observation.ts';

/**
 * A budget that can never allow a disruption: it needs every pod that it selects, as `maxUnavailable: 0`, `minAvailable`
 * of all, or a percentage that comes to all of them do; or all its pods are healthy and yet none may go, which holds
 * too for one that counts none of them, see {@link countsNone}. With pods disrupted it may yet. Source: drain.go, isMisconfiguredPdb; there only the second, and only after a refusal.
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
 * `maxUnavailable` and percentages are of the replicas that the pods' controllers ask for; pods without such a controller
 * count for nothing, so a budget over nothing else allows nothing, ever. Source: kube-controller-manager, disruption.go.
 */
const countsNone = ({ status }: PodDisruptionBudget): boolean =>
  (status?.expectedPods ?? 0) === 0 && (status?.currentHealthy ?? 0) > 0;

/** What a budget asks for, as written, and what it comes to. */
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
    return `${written} counts replicas of controllers, and its pods have no controller; write minAvailable as a number`;
  return `${written}, ${status.desiredHealthy ?? 0} of ${status.expectedPods ?? 0} pods needed, ${status.currentHealthy ?? 0} healthy`;
}

const nothingHealthy = ({ status }: PodDisruptionBudget): boolean =>
  (status?.desiredHealthy ?? 0) > 0 && (status?.currentHealthy ?? 0) === 0;

/** The part of a budget that decisions need. */
export const drainBudget = (budget: PodDisruptionBudget): DrainBudget => ({
  ...ruleField(ruleOf(budget)),
  ...(nothingHealthy(budget) ? { nothingHealthy: true } : {}),
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

/** The budget that will never let the pod go; one that spares pods that are not ready does not hold those. */
export const misconfiguredBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => budget.misconfigured && (pod.ready || !budget.sparesUnready))
    : undefined;

/** Says whether budgets have changed between two looks. */
export const budgetVersions = (pod: DrainPod): string =>
  pod.budgets.map(({ key, resourceVersion }) => `${key}@${resourceVersion}`).join(',');
