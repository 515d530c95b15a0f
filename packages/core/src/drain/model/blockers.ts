import type { UndrainablePolicy } from '../../settings/undrainable.ts';
import type { Attempt, DrainBudget, DrainObservation, DrainPod, PodRef } from './observation.ts';

export type ReportReason = 'DeletionBlocked' | 'DrainFailed' | 'PodDoesNotEnd' | 'VolumeStaysAttached';

/** An object that delays or blocks a drain. */
export interface Blocker {
  /** The text of a blocker must be equal in all plans, so that mcm writes the status only once. */
  readonly text: string;
  /** True for an error, and false for a blocker that may end after some time. */
  readonly failed: boolean;
  /** The keys of the PodDisruptionBudgets that block a pod. A change of these budgets may end the wait. */
  readonly budgets?: readonly string[] | undefined;
  readonly pods?: readonly string[] | undefined;
  readonly hint: string;
  /** mcm sends one event for each `cause` of a drain, such as one budget that blocks several pods. */
  readonly event?: { readonly reason: ReportReason; readonly cause: string };
}

export const nameOf = ({ namespace, name }: PodRef): string => `${namespace}/${name}`;

const blocked = (cause: string): Blocker['event'] & object => ({ reason: 'DeletionBlocked', cause });

const AFTER_TIMEOUT: Readonly<Record<UndrainablePolicy, string>> = {
  Force: 'deletes the pod',
  Quarantine: 'keeps the node cordoned until the pod ends',
  Hold: 'continues to wait for the pod',
  Fail: 'ends the drain and keeps the VM',
};

export function heldBlocker(
  { policy = 'Hold', policyProblem, forcedBy = 'force-deletion=true' }: DrainObservation,
  going: readonly DrainPod[],
): Blocker {
  const left = going.slice(0, 3).map(nameOf).join(', ');
  const more = going.length > 3 ? ` and ${going.length - 3} more` : '';
  const budgets = [...new Set(going.flatMap((pod) => pod.budgets.map(({ key }) => key)))];
  return {
    text: `drain timeout expired before pod ${left}${more} ended; undrainable policy ${policy} ${AFTER_TIMEOUT[policy]}${policyProblem ? `; ${policyProblem}` : ''}`,
    failed: true,
    // With the policy Quarantine, mcm waits for changes of these PodDisruptionBudgets.
    budgets: budgets.length > 0 && policy !== 'Fail' ? budgets : undefined,
    pods: going.map(nameOf),
    hint: `delete the pods by hand, or set the label ${forcedBy}`,
    event: {
      reason: policy === 'Fail' ? 'DrainFailed' : 'DeletionBlocked',
      cause: 'the drain timeout expired',
    },
  };
}

const unseenHint = (forcedBy: string): string =>
  `apply the RBAC roles of this mcm version (docs/permissions.md); the label ${forcedBy} on the machine skips this check`;

/**
 * Without permission to read volumes, mcm evicts no pods with volumes, because mcm cannot detect when the volumes are
 * detached.
 */
export const unseenBlocker = (
  unseen: string,
  pods: readonly DrainPod[],
  forcedBy = 'force-deletion=true',
): Blocker => ({
  text: `the pods of the node cannot be read: ${unseen}`,
  failed: true,
  pods: pods.length > 0 ? pods.map(nameOf) : undefined,
  hint: unseenHint(forcedBy),
  event: blocked('the pods of the node cannot be read'),
});

export const unseenRulesBlocker = (unseen: string, forcedBy = 'force-deletion=true'): Blocker => ({
  text: `the hooks and drain rules of the class cannot be read: ${unseen}`,
  failed: true,
  hint: unseenHint(forcedBy),
  event: blocked('the class cannot be read'),
});

/**
 * The API server refuses the eviction of a pod with several budgets with status 500, even if each budget allows a
 * disruption.
 */
export const severalBlocker = (pod: DrainPod): Blocker => {
  const keys = pod.budgets.map(({ key }) => key).sort();
  return {
    text: `error while evicting pod "${nameOf(pod)}": pod disruption budgets ${keys.join(' and ')} both select it, so the API server refuses the eviction`,
    failed: true,
    budgets: keys,
    hint: 'change or delete budgets until only one budget selects the pod',
    event: blocked(`budgets ${keys.join(' and ')}`),
  };
};

const replicasHelp = (rule = ''): boolean => !/^(maxUnavailable: |minAvailable: 100%)/.test(rule);

export const completionBlocker = (pod: DrainPod, rule: string): Blocker => ({
  text: `drain rule ${rule} waits until pod ${nameOf(pod)} has completed`,
  failed: false,
  hint: 'wait for the end of the pod, or delete the pod by hand',
});

export const busyLimitBlocker = (pod: DrainPod, driver: string): Blocker => ({
  text: `pod ${nameOf(pod)} waits, because other drains move as many volumes as the limit of CSI driver ${driver} allows`,
  failed: false,
  hint: 'wait for the other drains, or raise --drain-volume-limit of the machine controller',
});

export const misconfiguredBlocker = (pod: DrainPod, { key, rule }: DrainBudget): Blocker => ({
  text: `error while evicting pod "${nameOf(pod)}": pod disruption budget ${key} is misconfigured and requires zero voluntary evictions`,
  failed: true,
  budgets: [key],
  hint: `change budget ${key} to allow a disruption${rule ? ` (${rule})` : ''}${replicasHelp(rule) ? ', or run more replicas than the budget needs' : ''}`,
  event: blocked(`budget ${key}`),
});

export const budgetBlocker = (pod: DrainPod, { key, nothingHealthy }: DrainBudget): Blocker =>
  nothingHealthy
    ? {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, which has no healthy pod`,
        failed: false,
        budgets: [key],
        hint: `repair the workload of budget ${key}, or set its spec.unhealthyPodEvictionPolicy to AlwaysAllow`,
      }
    : {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, which allows no disruption now`,
        failed: false,
        budgets: [key],
        hint: `increase the number of healthy pods that budget ${key} selects`,
      };

export function refusedBlocker(pod: DrainPod, attempt: Attempt): Blocker {
  if (attempt.result === 'failed') {
    return {
      text: `error when evicting pod "${nameOf(pod)}": ${attempt.message}`,
      failed: true,
      hint: TRIED_AGAIN,
      event: blocked(`evicting pod ${nameOf(pod)}`),
    };
  }
  if (attempt.result === 'namespaceEnds') {
    const hint = `namespace ${pod.namespace} must be deleted first; see status.conditions of the namespace`;
    return {
      text: `pod ${nameOf(pod)} waits for the deletion of its namespace`,
      failed: false,
      hint,
    };
  }
  const budget = pod.budgets[0];
  if (budget) return budgetBlocker(pod, budget);
  const hint = 'mcm retries until the load of the API server and the pod disruption budgets allow the eviction';
  return { text: `pod ${nameOf(pod)} waits: the API server refuses its eviction for now`, failed: false, hint };
}

const TRIED_AGAIN = 'mcm retries; the message contains the cause';

export const undeletedBlocker = (pod: DrainPod, { message }: Attempt): Blocker => ({
  text: `error when deleting pod "${nameOf(pod)}": ${message}`,
  failed: true,
  hint: TRIED_AGAIN,
  event: blocked(`deleting pod ${nameOf(pod)}`),
});

export const overstayBlocker = (pod: DrainPod, dueAt: Date, forcedBy = 'force-deletion=true'): Blocker => ({
  text: `pod ${nameOf(pod)} does not terminate`,
  failed: false,
  hint: `the grace period ended at ${dueAt.toISOString()}; check the pod's finalizers and the kubelet; the label ${forcedBy} ends the wait`,
  event: { reason: 'PodDoesNotEnd', cause: `pod ${nameOf(pod)}` },
});
