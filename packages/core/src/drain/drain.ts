import { blockingBudget, budgetVersions, misconfiguredBudget, protectedByBudgets } from './budgets.ts';
import type { Attempt, DrainBudget, DrainObservation, DrainPod, PodRef } from './observation.ts';
import { verdictOf } from './pod-filters.ts';
import { mayMove, nextPlaceAt, planVolumes } from './volumes.ts';

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
  readonly cure: string;
  /** A pod that overstays: people are told of each once, by an event. */
  readonly overstays?: true;
}

/** What to do about the pods of a node now. */
export interface DrainPlan {
  /** Nothing is left to wait for. */
  readonly drained: boolean;
  /** The drain was forced: volumes may still be attached. */
  readonly forced: boolean;
  /** Evict these now. */
  readonly evict: readonly DrainPod[];
  /** Delete these now with grace 0. */
  readonly remove: readonly DrainPod[];
  /** Why they are not evicted, as the end of a sentence. */
  readonly removeBecause: string;
  /** On their way out, or waiting for their turn. */
  readonly leaving: readonly DrainPod[];
  readonly blockers: readonly Blocker[];
  /** Look again then, if no event has come. */
  readonly lookAgainAt?: Date;
}

/** Added to a pod's grace period before it counts as one that will not end. Source: drain.go. */
export const ENDING_BUFFER_MS = 30_000;

/** The watch of budgets is trusted; this is for the case that a budget's change and a pod's were seen in the wrong order. */
const BUDGET_RECHECK_MS = 120_000;

/** An eviction that a budget refused is tried again after 20 s (the original's pace), then more and more rarely. */
const BLOCKED_RETRY_MS = { firstMs: 20_000, maxMs: 120_000 } as const;
const FAILED_RETRY_MS = { firstMs: 5_000, maxMs: 60_000 } as const;

/**
 * One look at a drain: each pod that may go now is named, each that may not says why. Nothing waits in here; pods,
 * budgets and attachments bring the next look, `lookAgainAt` is the latest.
 */
export function planDrain(o: DrainObservation, now: Date): DrainPlan {
  const going = o.pods.filter((pod) => verdictOf(pod).pod !== 'stay');
  const overdue = now >= o.forceAt;
  if (o.forced || (overdue && !isHeld(o))) return planForced(o, going);
  if (overdue && o.policy === 'Quarantine' && going.length > 0) return planQuarantine(o, going);
  const pods = going.map((pod) => withName(planPod(o, pod, now)));
  const volumes = going.length === 0 ? planVolumes(o, now) : { blockers: [], waits: false };
  const plan = {
    forced: false,
    removeBecause: EVICTED_IN_VAIN,
    evict: pods.filter(({ verb }) => verb === 'evict').map(({ pod }) => pod),
    remove: pods.filter(({ verb }) => verb === 'remove').map(({ pod }) => pod),
    leaving: pods.filter(({ verb }) => verb === 'wait').map(({ pod }) => pod),
    blockers: [
      ...(overdue && going.length > 0 ? [heldBlocker(o, going)] : []),
      ...pods.flatMap(({ blocker }) => (blocker ? [blocker] : [])),
      ...volumes.blockers,
    ],
  };
  if (going.length === 0 && !volumes.waits) return { ...plan, drained: true };
  const instants = [...pods.flatMap(({ until }) => (until ? [until] : [])), ...(volumes.until ? [volumes.until] : [])];
  const deadlines = [o.forceAt, ...(isHeld(o) ? [] : [o.evictUntil])].filter((deadline) => now < deadline);
  const times = [...instants, ...deadlines].map((instant) => instant.getTime());
  return { ...plan, drained: false, ...(times.length > 0 ? { lookAgainAt: new Date(Math.min(...times)) } : {}) };
}

/** Neither time nor a silent node forces this drain. */
const isHeld = ({ policy = 'Force' }: DrainObservation): boolean => policy !== 'Force';

/** Nobody is asked to go any more; what is left on the cordoned node ends in its own time. */
const planQuarantine = (o: DrainObservation, going: readonly DrainPod[]): DrainPlan => ({
  drained: false,
  forced: false,
  evict: [],
  remove: [],
  removeBecause: '',
  leaving: going,
  blockers: [heldBlocker(o, going)],
});

function heldBlocker(
  { policy, policyProblem, forcedBy = 'force-deletion=true' }: DrainObservation,
  going: readonly DrainPod[],
): Blocker {
  const left = going.slice(0, 3).map(nameOf).join(', ');
  const more = going.length > 3 ? ` and ${going.length - 3} more` : '';
  const what = policy === 'Quarantine' ? 'keeps the node cordoned until it has ended' : 'keeps waiting for it';
  return {
    text: `time to drain is over with pod ${left}${more} left; undrainable policy ${policy} ${what}${policyProblem ? `; ${policyProblem}` : ''}`,
    failed: true,
    pods: going.map(nameOf),
    cure: `end the pods by hand, or label the machine ${forcedBy}`,
  };
}

/** Every pod is told to go without grace, once; nobody waits for them and no error holds the drain up. */
function planForced(o: DrainObservation, going: readonly DrainPod[]): DrainPlan {
  const remove = going.filter((pod) => o.memory.attempts.get(forcedKey(pod)) === undefined);
  const removeBecause = o.forced
    ? `as label ${o.forcedBy ?? 'force-deletion=true'} asks`
    : o.unresponsive
      ? 'as nobody on the node answers any more'
      : 'as the time to drain is over';
  return { drained: remove.length === 0, forced: true, evict: [], remove, removeBecause, leaving: [], blockers: [] };
}

const EVICTED_IN_VAIN = 'as the time to evict them is over (maxEvictRetries, drainTimeout)';

/** Attempts to delete a pod without grace are kept apart from evictions of it. */
export const forcedKey = (pod: PodRef): string => `${pod.uid}/forced`;

interface PodPlan {
  readonly pod: DrainPod;
  readonly verb: 'evict' | 'remove' | 'wait';
  readonly until?: Date;
  readonly blocker?: Blocker;
}

const wait = (pod: DrainPod, until: Date | undefined): PodPlan => ({ pod, verb: 'wait', ...(until ? { until } : {}) });

const withName = (plan: PodPlan): PodPlan =>
  plan.blocker ? { ...plan, blocker: { ...plan.blocker, pods: [nameOf(plan.pod)] } } : plan;

const nameOf = (pod: PodRef): string => `${pod.namespace}/${pod.name}`;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

function planPod(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const overdue = now >= o.evictUntil && !isHeld(o);
  if (pod.dueAt) return planLeaving(o, pod, pod.dueAt, overdue, now);
  if (!mayMove(o, pod, now)) return wait(pod, nextPlaceAt(o, now));
  if (overdue) return planRemoval(o, pod, now);
  const attempt = o.memory.attempts.get(pod.uid);
  // The answer to an eviction comes before the watch tells of the pod's new deletionTimestamp.
  if (attempt?.result === 'asked' && now < later(attempt.at, ENDING_BUFFER_MS)) {
    return { pod, verb: 'wait', until: later(attempt.at, ENDING_BUFFER_MS) };
  }
  const blocker = budgetBlockerOf(pod);
  if (blocker) return { pod, verb: 'wait', until: later(now, BUDGET_RECHECK_MS), blocker };
  return planRetry(pod, attempt, now);
}

/** What the budgets, by what the caches know of them, have against evicting the pod now: said without asking the server. */
function budgetBlockerOf(pod: DrainPod): Blocker | undefined {
  if (protectedByBudgets(pod) && pod.budgets.length > 1) return severalBlocker(pod);
  const misconfigured = misconfiguredBudget(pod);
  if (misconfigured) return misconfiguredBlocker(pod, misconfigured);
  const blocking = blockingBudget(pod);
  return blocking && budgetBlocker(pod, blocking);
}

/** The API server evicts no pod that two budgets select: it answers 500, whatever they allow. */
const severalBlocker = (pod: DrainPod): Blocker => {
  const keys = pod.budgets.map(({ key }) => key).sort();
  return {
    text: `error while evicting pod "${nameOf(pod)}": pod disruption budgets ${keys.join(' and ')} both select it, and the API server evicts no such pod`,
    failed: true,
    budgets: keys,
    cure: 'change the selectors or delete budgets until one selects the pod',
  };
};

const misconfiguredBlocker = (pod: DrainPod, { key, rule }: DrainBudget): Blocker => ({
  text: `error while evicting pod "${nameOf(pod)}": pod disruption budget ${key} is misconfigured and requires zero voluntary evictions`,
  failed: true,
  budgets: [key],
  cure: `let budget ${key} allow a disruption${rule ? ` (${rule})` : ''}, or run more replicas than it needs`,
});

const budgetBlocker = (pod: DrainPod, { key, nothingHealthy }: DrainBudget): Blocker =>
  nothingHealthy
    ? {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, none of whose pods is healthy`,
        failed: false,
        budgets: [key],
        cure: `mend the workload behind budget ${key}, or set its spec.unhealthyPodEvictionPolicy to AlwaysAllow`,
      }
    : {
        text: `pod ${nameOf(pod)} waits for pod disruption budget ${key}, which allows no disruption now`,
        failed: false,
        budgets: [key],
        cure: `more healthy pods under budget ${key}`,
      };

/** A pod that was refused before waits for its turn; one that was not goes. */
function planRetry(pod: DrainPod, attempt: Attempt | undefined, now: Date): PodPlan {
  if (!attempt || attempt.result === 'asked') return { pod, verb: 'evict' };
  const judged = !pod.budgets.some(({ stale }) => stale);
  if (attempt.result === 'blocked' && judged && attempt.budgets !== budgetVersions(pod)) return { pod, verb: 'evict' };
  const { firstMs, maxMs } = attempt.result === 'failed' ? FAILED_RETRY_MS : BLOCKED_RETRY_MS;
  const pause = Math.max(Math.min(firstMs * 2 ** (attempt.count - 1), maxMs), attempt.retryAfterMs ?? 0);
  const until = later(attempt.at, pause);
  if (now >= until) return { pod, verb: 'evict' };
  return { pod, verb: 'wait', until, blocker: refusedBlocker(pod, attempt) };
}

function refusedBlocker(pod: DrainPod, attempt: Attempt): Blocker {
  if (attempt.result === 'failed') {
    const cure = 'it is tried again; the message says what is wrong';
    return { text: `error when evicting pod "${nameOf(pod)}": ${attempt.message}`, failed: true, cure };
  }
  if (attempt.result === 'namespaceEnds') {
    const cure = `namespace ${pod.namespace} has to end; see its status.conditions`;
    return {
      text: `pod ${nameOf(pod)} waits for its namespace, which is being deleted, to end it`,
      failed: false,
      cure,
    };
  }
  const budget = pod.budgets[0];
  if (budget) return budgetBlocker(pod, budget);
  const cure = 'the API server lets it go when its budgets or its load allow';
  return { text: `pod ${nameOf(pod)} waits: its eviction is refused for now`, failed: false, cure };
}

/** Evicting has had its time: the pod is deleted without grace, budgets or not. */
function planRemoval(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const attempt = o.memory.attempts.get(forcedKey(pod));
  if (!attempt) return { pod, verb: 'remove' };
  const until = later(attempt.at, attempt.result === 'asked' ? ENDING_BUFFER_MS : FAILED_RETRY_MS.firstMs);
  if (now >= until) return { pod, verb: 'remove' };
  const cure = 'it is tried again; the message says what is wrong';
  const blocker = { text: `error when deleting pod "${nameOf(pod)}": ${attempt.message}`, failed: true, cure };
  return { pod, verb: 'wait', until, ...(attempt.result === 'asked' ? {} : { blocker }) };
}

/** A pod on its way out that overstays is named, and once evicting has had its time, deleted without grace. */
function planLeaving(o: DrainObservation, pod: DrainPod, dueAt: Date, overdue: boolean, now: Date): PodPlan {
  if (overdue) return planRemoval(o, pod, now);
  const limit = later(dueAt, ENDING_BUFFER_MS);
  if (now < limit) return { pod, verb: 'wait', until: limit };
  const cure = `it was to end by ${dueAt.toISOString()}; see its finalizers and its kubelet; ${o.forcedBy ?? 'force-deletion=true'} on the machine ends the wait`;
  const text = `pod ${nameOf(pod)} does not end`;
  return { pod, verb: 'wait', blocker: { text, failed: false, cure, overstays: true } };
}
