import { type LabelSelector, selectorMatches } from '@mcm/api';
import { keyOf, type PodDisruptionBudget } from '@mcm/kube';
import type { DrainBudget, DrainPod } from './observation.ts';

/**
 * Returns true if the budget can never allow a disruption.
 * A misconfigured budget requires every selected pod, or allows no disruption although all its pods are healthy.
 *
 * The original detects only a budget that allows no disruption, and only after the API server has refused an eviction.
 * Source: drain.go, isMisconfiguredPdb.
 */
export function isMisconfigured(budget: PodDisruptionBudget): boolean {
  const { status } = budget;
  if (!status || budget.metadata.generation !== status.observedGeneration) return false;
  const { expected, healthy, desired, allowed } = countsOf(budget);
  return (
    (countsNone(budget) || (expected > 0 && (healthy >= expected || desired >= expected))) &&
    Object.keys((status as { disruptedPods?: object }).disruptedPods ?? {}).length === 0 &&
    allowed === 0
  );
}

/**
 * Returns true if the budget selects healthy pods, but its status expects none. For `maxUnavailable`, Kubernetes reads
 * the expected number of pods from their controllers. A budget for pods without a controller therefore never allows a
 * disruption. Source: kube-controller-manager, disruption.go.
 */
function countsNone(budget: PodDisruptionBudget): boolean {
  const { expected, healthy } = countsOf(budget);
  return expected === 0 && healthy > 0;
}

interface Counts {
  readonly expected: number;
  readonly healthy: number;
  readonly desired: number;
  readonly allowed: number;
}

const countsOf = ({ status }: PodDisruptionBudget): Counts => ({
  expected: status?.expectedPods ?? 0,
  healthy: status?.currentHealthy ?? 0,
  desired: status?.desiredHealthy ?? 0,
  allowed: status?.disruptionsAllowed ?? 0,
});

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
    return `${written} applies only to pods with a controller, but the selected pods have no controller; write minAvailable as a number`;
  const { expected, healthy, desired } = countsOf(budget);
  return `${written}, ${desired} of ${expected} pods needed, ${healthy} healthy`;
}

export function drainBudget(budget: PodDisruptionBudget): DrainBudget {
  const { healthy, desired, allowed } = countsOf(budget);
  return {
    rule: ruleOf(budget),
    nothingHealthy: desired > 0 && healthy === 0 ? true : undefined,
    key: keyOf(budget),
    resourceVersion: budget.metadata.resourceVersion,
    allowed,
    stale: budget.metadata.generation !== budget.status?.observedGeneration,
    misconfigured: isMisconfigured(budget),
    sparesUnready: budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' || healthy >= desired,
  };
}

/** In policy/v1, an empty selector selects every pod. */
export const budgetSelects = (
  budget: PodDisruptionBudget,
  labels: Readonly<Record<string, string>> | undefined,
): boolean => selectorMatches(budget.spec.selector as LabelSelector | undefined, labels);

/** Returns true if budgets protect the pod. Budgets protect a pod after its start and until its end. */
export const protectedByBudgets = (pod: DrainPod): boolean =>
  pod.phase !== 'Succeeded' && pod.phase !== 'Failed' && pod.phase !== 'Pending';

export const blockingBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => !budget.stale && budget.allowed <= 0 && (pod.ready || !budget.sparesUnready))
    : undefined;

/**
 * Returns the misconfigured budget that blocks the pod. A budget that allows the eviction of unready pods does not
 * block an unready pod.
 */
export const misconfiguredBudget = (pod: DrainPod): DrainBudget | undefined =>
  protectedByBudgets(pod)
    ? pod.budgets.find((budget) => budget.misconfigured && (pod.ready || !budget.sparesUnready))
    : undefined;

export const budgetVersions = (pod: DrainPod): string =>
  pod.budgets.map(({ key, resourceVersion }) => `${key}@${resourceVersion}`).join(',');
