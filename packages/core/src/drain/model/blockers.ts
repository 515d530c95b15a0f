import type { Attempt, DrainBudget, DrainObservation, DrainPod, PodRef } from './observation.ts';

/** Reasons of the events by which people are told of a drain. */
export type ReportReason = 'DeletionBlocked' | 'PodDoesNotEnd' | 'VolumeStaysAttached';

/** Something that holds up a drain, by name. */
export interface Blocker {
  /** `pod`, `budget` or `volume`, with what it is about; stable from look to look, so that it is written once. */
  readonly text: string;
  /** Something is wrong, not merely slow. */
  readonly failed: boolean;
  /** Keys of the PodDisruptionBudgets whose change ends the wait. */
  readonly budgets?: readonly string[];
  /** `namespace/name` of the pods that are held up; none for a volume that is left behind. */
  readonly pods?: readonly string[];
  /** What would end the wait, as a sentence for a person. */
  readonly hint: string;
  /**
   * People are told by an event, once for each `cause` of a drain: what is wrong by name, the same for all pods that one
   * budget blocks and however the API server words its refusal.
   */
  readonly tell?: { readonly reason: ReportReason; readonly cause: string };
}

/** `namespace/name`. */
export const nameOf = ({ namespace, name }: PodRef): string => `${namespace}/${name}`;

const blocked = (cause: string): Blocker['tell'] & object => ({ reason: 'DeletionBlocked', cause });

/** The time to drain is over, and the machine's policy forces nothing. */
export function heldBlocker(
  { policy, policyProblem, forcedBy = 'force-deletion=true' }: DrainObservation,
  going: readonly DrainPod[],
): Blocker {
  const left = going.slice(0, 3).map(nameOf).join(', ');
  const more = going.length > 3 ? ` and ${going.length - 3} more` : '';
  const budgets = [...new Set(going.flatMap((pod) => pod.budgets.map(({ key }) => key)))];
  const what = policy === 'Quarantine' ? 'keeps the node cordoned until it has ended' : 'keeps waiting for it';
  return {
    text: `time to drain is over with pod ${left}${more} left; undrainable policy ${policy} ${what}${policyProblem ? `; ${policyProblem}` : ''}`,
    failed: true,
    // Their change is what a quarantined node waits for; of a held one each pod tells of its own.
    ...(budgets.length > 0 ? { budgets } : {}),
    pods: going.map(nameOf),
    hint: `end the pods by hand, or label the machine ${forcedBy}`,
    tell: blocked('the time to drain is over'),
  };
}

/** What nobody can see is not drained blindly: its end could not be seen either. */
export const unseenBlocker = (
  unseen: string,
  pods: readonly DrainPod[],
  forcedBy = 'force-deletion=true',
): Blocker => ({
  text: `what is on the node cannot be seen: ${unseen}`,
  failed: true,
  ...(pods.length > 0 ? { pods: pods.map(nameOf) } : {}),
  hint: `apply the roles of this version (docs/permissions.md); ${forcedBy} on the machine does without`,
  tell: blocked('what is on the node cannot be seen'),
});

/** The API server evicts no pod that two budgets select: it answers 500, whatever they allow. */
export const severalBlocker = (pod: DrainPod): Blocker => {
  const keys = pod.budgets.map(({ key }) => key).sort();
  return {
    text: `error while evicting pod "${nameOf(pod)}": pod disruption budgets ${keys.join(' and ')} both select it, and the API server evicts no such pod`,
    failed: true,
    budgets: keys,
    hint: 'change the selectors or delete budgets until one selects the pod',
    tell: blocked(`budgets ${keys.join(' and ')}`),
  };
};

/** The budget can never allow a disruption. */
export const misconfiguredBlocker = (pod: DrainPod, { key, rule }: DrainBudget): Blocker => ({
  text: `error while evicting pod "${nameOf(pod)}": pod disruption budget ${key} is misconfigured and requires zero voluntary evictions`,
  failed: true,
  budgets: [key],
  hint: `let budget ${key} allow a disruption${rule ? ` (${rule})` : ''}, or run more replicas than it needs`,
  tell: blocked(`budget ${key}`),
});

/** The budget allows nothing now. */
export const budgetBlocker = (pod: DrainPod, { key, nothingHealthy }: DrainBudget): Blocker =>
  nothingHealthy
    ? {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, none of whose pods is healthy`,
        failed: false,
        budgets: [key],
        hint: `mend the workload behind budget ${key}, or set its spec.unhealthyPodEvictionPolicy to AlwaysAllow`,
      }
    : {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, which allows no disruption now`,
        failed: false,
        budgets: [key],
        hint: `more healthy pods under budget ${key}`,
      };

/** The API server refused to evict the pod. */
export function refusedBlocker(pod: DrainPod, attempt: Attempt): Blocker {
  if (attempt.result === 'failed') {
    return {
      text: `error when evicting pod "${nameOf(pod)}": ${attempt.message}`,
      failed: true,
      hint: TRIED_AGAIN,
      tell: blocked(`evicting pod ${nameOf(pod)}`),
    };
  }
  if (attempt.result === 'namespaceEnds') {
    const hint = `namespace ${pod.namespace} has to end; see its status.conditions`;
    return {
      text: `pod ${nameOf(pod)} waits for its namespace, which is being deleted, to end it`,
      failed: false,
      hint,
    };
  }
  const budget = pod.budgets[0];
  if (budget) return budgetBlocker(pod, budget);
  const hint = 'the API server lets it go when its budgets or its load allow';
  return { text: `pod ${nameOf(pod)} waits: its eviction is refused for now`, failed: false, hint };
}

const TRIED_AGAIN = 'it is tried again; the message says what is wrong';

/** The API server refused to delete the pod. */
export const undeletedBlocker = (pod: DrainPod, { message }: Attempt): Blocker => ({
  text: `error when deleting pod "${nameOf(pod)}": ${message}`,
  failed: true,
  hint: TRIED_AGAIN,
  tell: blocked(`deleting pod ${nameOf(pod)}`),
});

/** The pod was to have ended by `dueAt`. */
export const overstayBlocker = (pod: DrainPod, dueAt: Date, forcedBy = 'force-deletion=true'): Blocker => ({
  text: `pod ${nameOf(pod)} does not end`,
  failed: false,
  hint: `it was to end by ${dueAt.toISOString()}; see its finalizers and its kubelet; ${forcedBy} on the machine ends the wait`,
  tell: { reason: 'PodDoesNotEnd', cause: `pod ${nameOf(pod)}` },
});
