import { withoutUndefined } from '@mcm/kube';
import type { UndrainablePolicy } from '../settings/undrainable.ts';
import {
  type Blocker,
  budgetBlocker,
  busyLimitBlocker,
  completionBlocker,
  heldBlocker,
  misconfiguredBlocker,
  nameOf,
  overstayBlocker,
  refusedBlocker,
  severalBlocker,
  undeletedBlocker,
  unseenBlocker,
  unseenRulesBlocker,
} from './model/blockers.ts';
import { blockingBudget, budgetVersions, misconfiguredBudget, protectedByBudgets } from './model/budgets.ts';
import type { Attempt, DrainObservation, DrainPod, PodRef } from './model/observation.ts';
import { verdictOf } from './model/pod-filters.ts';
import { isAskedFor, planRequested, stopsEvictions } from './requests/requested.ts';
import { NO_VOLUMES, volumesLeft, waitForMoves, waitForVolumes } from './volumes/volume-waits.ts';
import { beginMove, busyDriverOf, byEviction, byPriority, mayMove, nextPlaceAt } from './volumes/volumes.ts';

/** The actions of a drain on the pods of a node, at one point in time. */
export interface DrainPlan {
  /** `drained` is true if no pod and no volume delays the end of the drain. */
  readonly drained: boolean;
  /** Whether the drain was forced. After a forced drain, volumes may still be attached. */
  readonly forced: boolean;
  readonly evict: readonly DrainPod[];
  readonly remove: readonly DrainPod[];
  /** The end of the sentence that explains why mcm deletes the pods in `remove` with grace period 0. */
  readonly removeBecause: string;
  readonly leaving: readonly DrainPod[];
  readonly blockers: readonly Blocker[];
  /**
   * The policy that keeps the remaining pods after the drain timeout. The field is set only if the drain cannot end
   * until a user acts.
   */
  readonly undrained?: UndrainablePolicy | undefined;
  /**
   * After an interruption of the watch, pods may be missing in the cache, so the drain waits until the watch continues.
   */
  readonly awaitsWatch?: true;
  /** Whether the controller must read the Evictions again, because a pod with an EvictionRequest still waits. */
  readonly readsResponders?: true;
  /** Volumes that were not detached in time, and for which the drain no longer waits. */
  readonly leftAttached: readonly Blocker[];
  readonly lookAgainAt?: Date | undefined;
}

/** mcm reports a terminating pod when the pod exceeds its grace period by this time. Source: drain.go. */
export const ENDING_BUFFER_MS = 30_000;

const BUDGET_RECHECK_MS = 120_000;

/** The delay before the drain checks whether an interrupted watch of pods continues. */
const WATCH_RECHECK_MS = 1_000;

/** The minimum and maximum delay before mcm repeats a refused eviction. The first delay is 20 s, as in the original. */
const BLOCKED_RETRY_MS = { firstMs: 20_000, maxMs: 120_000 } as const;
const FAILED_RETRY_MS = { firstMs: 5_000, maxMs: 60_000 } as const;

/** Returns the pods to evict now, and the reason for each pod that waits. */
export function planDrain(o: DrainObservation, now: Date): DrainPlan {
  const going = o.pods.filter((pod) => verdictOf(pod).pod !== 'stay');
  const overdue = now >= o.forceAt;
  if (o.unseen?.pods !== undefined && !o.forced) return planBlind(unseenBlocker(o.unseen.pods, [], o.forcedBy));
  if (isWithoutRules(o)) return planBlind(unseenRulesBlocker(o.unseen?.rules ?? '', o.forcedBy));
  if (o.forced || (overdue && !isHeld(o))) return planForced(o, going);
  if (overdue && going.length > 0 && stopsEvictions(o)) return planStopped(o, going, now);
  const undrained = overdue && going.length > 0 ? o.policy : undefined;
  const pods = (o.urgent ? going.toSorted(byPriority) : going).map((pod) => withName(planPod(o, pod, now)));
  const evicted = pods.filter(({ verb }) => verb === 'evict').map(({ pod }) => pod);
  const turns = pods.some(({ turn }) => turn);
  const unseen = o.unseen?.volumes;
  const held = going.filter((pod) => needsVolumes(o, pod));
  const volumes = going.length === 0 ? waitForVolumes(o, now) : turns ? waitForMoves(o, now) : NO_VOLUMES;
  const reads = pods.some(({ read }) => read) ? ({ readsResponders: true } as const) : {};
  const plan = {
    ...reads,
    forced: false,
    removeBecause: EVICTION_TIMED_OUT,
    // A budget may allow only the first evictions in the list, so a preview and the drain must use the same order.
    evict: evicted.toSorted(o.urgent ? byPriority : byEviction),
    remove: pods.filter(({ verb }) => verb === 'remove').map(({ pod }) => pod),
    leaving: pods.filter(({ verb }) => verb === 'wait').map(({ pod }) => pod),
    blockers: [
      ...(undrained ? [heldBlocker(o, going)] : []),
      ...pods.flatMap(({ blocker }) => (blocker ? [blocker] : [])),
      ...volumes.blockers,
      ...(unseen === undefined ? [] : [unseenBlocker(unseen, held, o.forcedBy)]),
    ],
    leftAttached: volumesLeft(o, now),
    undrained,
  };
  const isEmpty = going.length === 0 && !volumes.waits && unseen === undefined;
  // mcm receives no event when an interrupted watch continues, so a timer starts the next plan.
  if (isEmpty && o.podsUnproven && !overdue)
    return { ...plan, drained: false, awaitsWatch: true, lookAgainAt: new Date(now.getTime() + WATCH_RECHECK_MS) };
  if (isEmpty) return { ...plan, drained: true };
  const instants = [...pods.flatMap(({ until }) => (until ? [until] : [])), ...(volumes.until ? [volumes.until] : [])];
  const deadlines = [o.forceAt, ...(isHeld(o) ? [] : [o.evictUntil])].filter((deadline) => now < deadline);
  const times = [...instants, ...deadlines].map((instant) => instant.getTime());
  return { ...plan, drained: false, lookAgainAt: times.length > 0 ? new Date(Math.min(...times)) : undefined };
}

/**
 * Returns true if mcm must not evict pods, because the class that it cannot read may have hooks or drain rules for the
 * pods.
 */
export const isWithoutRules = ({ unseen, forced }: DrainObservation): boolean => unseen?.rules !== undefined && !forced;

/**
 * While mcm cannot read the pods or the class, no timeout forces the drain, because the deletion of the VM could end
 * running pods.
 */
const planBlind = (blocker: Blocker): DrainPlan => ({ ...NOTHING, blockers: [blocker] });

/**
 * Returns true if mcm has no permission to read the volumes of the pod. mcm then cannot detect that the volumes are
 * detached after an eviction.
 */
const needsVolumes = ({ unseen }: DrainObservation, { hasClaims }: DrainPod): boolean =>
  unseen?.volumes !== undefined && hasClaims;

const NOTHING: DrainPlan = {
  drained: false,
  forced: false,
  evict: [],
  remove: [],
  removeBecause: '',
  leaving: [],
  blockers: [],
  leftAttached: [],
};

const isHeld = ({ policy = 'Force' }: DrainObservation): boolean => policy !== 'Force';

/**
 * The policies Quarantine and Fail stop a drain after the drain timeout, and the node stays cordoned. With Quarantine,
 * mcm still evicts a pod when a change of its budgets allows the eviction.
 */
function planStopped(o: DrainObservation, going: readonly DrainPod[], now: Date): DrainPlan {
  const released = o.policy === 'Fail' ? [] : going.filter((pod) => isReleased(o, pod));
  // Only two groups of pods count for the limit of moving volumes: terminating pods, and pods that are evicted now.
  const moving = { ...o, pods: going.filter((pod) => pod.dueAt || released.includes(pod)) };
  const evict = released.filter((pod) => mayMove(moving, pod, now));
  const nextAt = evict.length < released.length ? nextPlaceAt(moving, now) : undefined;
  return {
    ...NOTHING,
    evict,
    leaving: going.filter((pod) => !evict.includes(pod)),
    blockers: [heldBlocker(o, going)],
    undrained: o.policy,
    ...withoutUndefined({ lookAgainAt: nextAt }),
  };
}

/**
 * Returns true if the budgets of the pod have changed since the last attempt to evict the pod. A new process has no
 * record of attempts, so it may always try to evict the pod once.
 */
function isReleased(o: DrainObservation, pod: DrainPod): boolean {
  if (verdictOf(pod).pod !== 'evict' || needsVolumes(o, pod) || budgetBlockerOf(pod)) return false;
  if (pod.budgets.some(({ stale }) => stale)) return false;
  return o.memory.attempts.get(pod.uid)?.budgets !== budgetVersions(pod);
}

/**
 * Plans a forced drain, which deletes each pod once without a grace period.
 * A forced drain continues after errors and does not wait until the pods end.
 */
function planForced(o: DrainObservation, going: readonly DrainPod[]): DrainPlan {
  const remove = going.filter((pod) => o.memory.attempts.get(forcedKey(pod)) === undefined);
  const removeBecause = o.forced
    ? `because of label ${o.forcedBy ?? 'force-deletion=true'}`
    : o.interrupted
      ? 'because the cloud is ending the VM'
      : o.unresponsive
        ? 'because the node is unreachable'
        : 'because the drain timeout expired';
  return {
    drained: remove.length === 0,
    forced: true,
    evict: [],
    remove,
    removeBecause,
    leaving: [],
    blockers: [],
    leftAttached: [],
  };
}

const EVICTION_TIMED_OUT = 'because the eviction timeout expired (maxEvictRetries, drainTimeout)';

export const forcedKey = (pod: PodRef): string => `${pod.uid}/forced`;

interface PodPlan {
  readonly pod: DrainPod;
  readonly verb: 'evict' | 'remove' | 'wait';
  readonly until?: Date | undefined;
  readonly blocker?: Blocker | undefined;
  readonly turn?: true;
  readonly read?: boolean;
}

const wait = (pod: DrainPod, until: Date | undefined): PodPlan => ({ pod, verb: 'wait', until });

const withName = (plan: PodPlan): PodPlan =>
  plan.blocker ? { ...plan, blocker: { ...plan.blocker, pods: [nameOf(plan.pod)] } } : plan;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

function planPod(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const overdue = now >= o.evictUntil && !isHeld(o);
  if (pod.dueAt) return planLeaving(o, pod, pod.dueAt, overdue, now);
  if (verdictOf(pod).pod === 'wait') return planWaiting(pod);
  if (needsVolumes(o, pod)) return wait(pod, undefined);
  if (!mayMove(o, pod, now)) return planTurn(o, pod, now);
  if (overdue) return planRemoval(o, pod, now);
  const attempt = o.memory.attempts.get(pod.uid);
  if (attempt?.requested) {
    const requested = planRequested(o, pod, attempt, now);
    return requested ? { pod, verb: 'wait', ...requested } : planEviction(pod, attempt, now);
  }
  // A responder can prepare the eviction of a pod while the budget of the pod forbids the eviction. A pod with volumes
  // gets no EvictionRequest, because the pod would count towards the limit of moving volumes while it waits for its
  // responder.
  if (isAskedFor(o, pod, now) && !beginMove(pod)) return { pod, verb: 'evict' };
  if (attempt?.result === 'asked' && now < later(attempt.at, ENDING_BUFFER_MS)) {
    return { pod, verb: 'wait', until: later(attempt.at, ENDING_BUFFER_MS) };
  }
  return planEviction(pod, attempt, now);
}

/**
 * Plans the next step of a pod that waits for the volumes of other pods. This drain may miss the time when another
 * drain has moved its volumes, so the wait has a time limit.
 */
function planTurn(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const busy = busyDriverOf(o, pod, now);
  if (busy === undefined) return { ...wait(pod, nextPlaceAt(o, now)), turn: true };
  const until = nextPlaceAt(o, now) ?? later(now, o.detachTimeoutMs);
  return { pod, verb: 'wait', until, turn: true, blocker: busyLimitBlocker(pod, busy) };
}

const planWaiting = (pod: DrainPod): PodPlan =>
  pod.rule?.behavior === 'WaitCompleted'
    ? { pod, verb: 'wait', blocker: completionBlocker(pod, pod.rule.name) }
    : wait(pod, undefined);

function planEviction(pod: DrainPod, attempt: Attempt | undefined, now: Date): PodPlan {
  const blocker = budgetBlockerOf(pod);
  if (blocker) return { pod, verb: 'wait', until: later(now, BUDGET_RECHECK_MS), blocker };
  return planRetry(pod, attempt, now);
}

/** mcm sends no eviction request for a pod with a budget that forbids the eviction. */
function budgetBlockerOf(pod: DrainPod): Blocker | undefined {
  if (protectedByBudgets(pod) && pod.budgets.length > 1) return severalBlocker(pod);
  const misconfigured = misconfiguredBudget(pod);
  if (misconfigured) return misconfiguredBlocker(pod, misconfigured);
  const blocking = blockingBudget(pod);
  return blocking && budgetBlocker(pod, blocking);
}

function planRetry(pod: DrainPod, attempt: Attempt | undefined, now: Date): PodPlan {
  if (!attempt || attempt.result === 'asked') return { pod, verb: 'evict' };
  const assessed = !pod.budgets.some(({ stale }) => stale);
  if (attempt.result === 'blocked' && assessed && attempt.budgets !== budgetVersions(pod))
    return { pod, verb: 'evict' };
  const { firstMs, maxMs } = attempt.result === 'failed' ? FAILED_RETRY_MS : BLOCKED_RETRY_MS;
  const pause = Math.max(Math.min(firstMs * 2 ** (attempt.count - 1), maxMs), attempt.retryAfterMs ?? 0);
  const until = later(attempt.at, pause);
  if (now >= until) return { pod, verb: 'evict' };
  return { pod, verb: 'wait', until, blocker: refusedBlocker(pod, attempt) };
}

function planRemoval(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const attempt = o.memory.attempts.get(forcedKey(pod));
  if (!attempt) return { pod, verb: 'remove' };
  const until = later(attempt.at, attempt.result === 'asked' ? ENDING_BUFFER_MS : FAILED_RETRY_MS.firstMs);
  if (now >= until) return { pod, verb: 'remove' };
  return {
    pod,
    verb: 'wait',
    until,
    blocker: attempt.result === 'asked' ? undefined : undeletedBlocker(pod, attempt),
  };
}

/** mcm deletes a terminating pod with grace period 0 after the eviction timeout. */
function planLeaving(o: DrainObservation, pod: DrainPod, dueAt: Date, overdue: boolean, now: Date): PodPlan {
  if (overdue) return planRemoval(o, pod, now);
  const limit = later(dueAt, ENDING_BUFFER_MS);
  if (now < limit) return { pod, verb: 'wait', until: limit };
  return { pod, verb: 'wait', blocker: overstayBlocker(pod, dueAt, o.forcedBy) };
}
