import { withoutUndefined } from '@mcm/kube';
import type { UndrainablePolicy } from '../settings/undrainable.ts';
import {
  type Blocker,
  budgetBlocker,
  heldBlocker,
  misconfiguredBlocker,
  nameOf,
  overstayBlocker,
  refusedBlocker,
  severalBlocker,
  undeletedBlocker,
  unseenBlocker,
} from './model/blockers.ts';
import { blockingBudget, budgetVersions, misconfiguredBudget, protectedByBudgets } from './model/budgets.ts';
import type { Attempt, DrainObservation, DrainPod, PodRef } from './model/observation.ts';
import { verdictOf } from './model/pod-filters.ts';
import { NO_VOLUMES, volumesLeft, waitForMoves, waitForVolumes } from './volumes/volume-waits.ts';
import { byPriority, mayMove, nextPlaceAt } from './volumes/volumes.ts';

/** The actions for the pods of a node now. */
export interface DrainPlan {
  /** Nothing is left to wait for. */
  readonly drained: boolean;
  /** The drain was forced: volumes may still be attached. */
  readonly forced: boolean;
  /** Pods to evict now. */
  readonly evict: readonly DrainPod[];
  /** Pods to delete now with grace period 0. */
  readonly remove: readonly DrainPod[];
  /** Why they are not evicted, as the end of a sentence. */
  readonly removeBecause: string;
  /** Terminating pods, and pods that wait for their turn. */
  readonly leaving: readonly DrainPod[];
  readonly blockers: readonly Blocker[];
  /**
   * The drain timeout has ended, pods are left, and this policy keeps them. Absent: the drain can still end by itself.
   */
  readonly undrained?: UndrainablePolicy | undefined;
  /** The cache has no pods that must go, but its watch was interrupted. */
  readonly awaitsWatch?: true;
  /** Volumes that were not detached in time and are no longer awaited. */
  readonly leftAttached: readonly Blocker[];
  /** Time of the next pass if no event comes before. */
  readonly lookAgainAt?: Date | undefined;
}

/** Added to a pod's grace period before the pod counts as one that does not end. Source: drain.go. */
export const ENDING_BUFFER_MS = 30_000;

/** Changes of budgets wake the drain. This covers changes of a budget and a pod that arrive in the wrong order. */
const BUDGET_RECHECK_MS = 120_000;

/** An interrupted watch continues after one request. */
const WATCH_RECHECK_MS = 1_000;

/** A refused eviction is retried after 20 s like in the original, then with growing waits. */
const BLOCKED_RETRY_MS = { firstMs: 20_000, maxMs: 120_000 } as const;
const FAILED_RETRY_MS = { firstMs: 5_000, maxMs: 60_000 } as const;

/**
 * One pass of a drain: it names each pod that may be evicted now, and the reason for each other pod. It does not wait.
 * Changes of pods, budgets and attachments cause the next pass, at the latest at `lookAgainAt`.
 */
export function planDrain(o: DrainObservation, now: Date): DrainPlan {
  const going = o.pods.filter((pod) => verdictOf(pod).pod !== 'stay');
  const overdue = now >= o.forceAt;
  if (o.unseen?.pods !== undefined && !o.forced) return planBlind(o, o.unseen.pods);
  if (o.forced || (overdue && !isHeld(o))) return planForced(o, going);
  if (overdue && o.policy === 'Quarantine' && going.length > 0) return planQuarantine(o, going, now);
  const undrained = overdue && going.length > 0 ? o.policy : undefined;
  const pods = (o.urgent ? going.toSorted(byPriority) : going).map((pod) => withName(planPod(o, pod, now)));
  const turns = pods.some(({ turn }) => turn);
  const unseen = o.unseen?.volumes;
  const held = going.filter((pod) => needsVolumes(o, pod));
  const volumes = going.length === 0 ? waitForVolumes(o, now) : turns ? waitForMoves(o, now) : NO_VOLUMES;
  const plan = {
    forced: false,
    removeBecause: EVICTED_IN_VAIN,
    evict: pods.filter(({ verb }) => verb === 'evict').map(({ pod }) => pod),
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
  // No event reports that the watch continues, so the next pass has a time.
  if (isEmpty && o.podsUnproven && !overdue)
    return { ...plan, drained: false, awaitsWatch: true, lookAgainAt: new Date(now.getTime() + WATCH_RECHECK_MS) };
  if (isEmpty) return { ...plan, drained: true };
  const instants = [...pods.flatMap(({ until }) => (until ? [until] : [])), ...(volumes.until ? [volumes.until] : [])];
  const deadlines = [o.forceAt, ...(isHeld(o) ? [] : [o.evictUntil])].filter((deadline) => now < deadline);
  const times = [...instants, ...deadlines].map((instant) => instant.getTime());
  return { ...plan, drained: false, lookAgainAt: times.length > 0 ? new Date(Math.min(...times)) : undefined };
}

/** Without access to the pods of the VM, no timeout forces the drain. */
const planBlind = (o: DrainObservation, unseen: string): DrainPlan => ({
  ...NOTHING,
  blockers: [unseenBlocker(unseen, [], o.forcedBy)],
});

/** Its volumes must be detached from the node, and cannot be read. */
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

/** Neither a timeout nor an unresponsive node forces this drain. */
const isHeld = ({ policy = 'Force' }: DrainObservation): boolean => policy !== 'Force';

/**
 * The remaining pods on the cordoned node end by themselves. A pod is evicted again when a change of its budgets allows
 * it.
 */
function planQuarantine(o: DrainObservation, going: readonly DrainPod[], now: Date): DrainPlan {
  const released = going.filter((pod) => isReleased(o, pod));
  // Only these share the places for volumes. The others are not evicted.
  const moving = { ...o, pods: going.filter((pod) => pod.dueAt || released.includes(pod)) };
  const evict = released.filter((pod) => mayMove(moving, pod, now));
  const nextAt = evict.length < released.length ? nextPlaceAt(moving, now) : undefined;
  return {
    ...NOTHING,
    evict,
    leaving: going.filter((pod) => !evict.includes(pod)),
    blockers: [heldBlocker(o, going)],
    undrained: 'Quarantine',
    ...withoutUndefined({ lookAgainAt: nextAt }),
  };
}

/**
 * Returns true if the pod's budgets have changed since the last eviction by this process, and allow it now. A process
 * without such an eviction evicts a pod with budgets once, because the change may have happened while no process ran.
 */
function isReleased(o: DrainObservation, pod: DrainPod): boolean {
  if (pod.dueAt || needsVolumes(o, pod) || budgetBlockerOf(pod)) return false;
  if (pod.budgets.some(({ stale }) => stale)) return false;
  return (o.memory.attempts.get(pod.uid)?.budgets ?? '') !== budgetVersions(pod);
}

/** Deletes every pod without grace, once. The drain does not wait for them, and no error delays it. */
function planForced(o: DrainObservation, going: readonly DrainPod[]): DrainPlan {
  const remove = going.filter((pod) => o.memory.attempts.get(forcedKey(pod)) === undefined);
  const removeBecause = o.forced
    ? `because of label ${o.forcedBy ?? 'force-deletion=true'}`
    : o.interrupted
      ? 'because the cloud ends the VM'
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

const EVICTED_IN_VAIN = 'because the eviction timeout expired (maxEvictRetries, drainTimeout)';

/** Deletions of a pod without grace are recorded apart from its evictions. */
export const forcedKey = (pod: PodRef): string => `${pod.uid}/forced`;

interface PodPlan {
  readonly pod: DrainPod;
  readonly verb: 'evict' | 'remove' | 'wait';
  readonly until?: Date | undefined;
  readonly blocker?: Blocker | undefined;
  /** It waits for volumes of other pods. */
  readonly turn?: true;
}

const wait = (pod: DrainPod, until: Date | undefined): PodPlan => ({ pod, verb: 'wait', until });

const withName = (plan: PodPlan): PodPlan =>
  plan.blocker ? { ...plan, blocker: { ...plan.blocker, pods: [nameOf(plan.pod)] } } : plan;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

function planPod(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const overdue = now >= o.evictUntil && !isHeld(o);
  if (pod.dueAt) return planLeaving(o, pod, pod.dueAt, overdue, now);
  if (needsVolumes(o, pod)) return wait(pod, undefined);
  if (!mayMove(o, pod, now)) return { ...wait(pod, nextPlaceAt(o, now)), turn: true };
  if (overdue) return planRemoval(o, pod, now);
  const attempt = o.memory.attempts.get(pod.uid);
  // The answer to an eviction arrives before the watch shows the pod's deletionTimestamp.
  if (attempt?.result === 'asked' && now < later(attempt.at, ENDING_BUFFER_MS)) {
    return { pod, verb: 'wait', until: later(attempt.at, ENDING_BUFFER_MS) };
  }
  const blocker = budgetBlockerOf(pod);
  if (blocker) return { pod, verb: 'wait', until: later(now, BUDGET_RECHECK_MS), blocker };
  return planRetry(pod, attempt, now);
}

/** The budget in the caches that forbids the eviction now, without a request to the server. */
function budgetBlockerOf(pod: DrainPod): Blocker | undefined {
  if (protectedByBudgets(pod) && pod.budgets.length > 1) return severalBlocker(pod);
  const misconfigured = misconfiguredBudget(pod);
  if (misconfigured) return misconfiguredBlocker(pod, misconfigured);
  const blocking = blockingBudget(pod);
  return blocking && budgetBlocker(pod, blocking);
}

/** A refused pod waits until its next attempt; another pod is evicted. */
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

/** The eviction timeout has ended: the pod is deleted without a grace period, with any budgets. */
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

/** A terminating pod that exceeds its time is reported. After the eviction timeout it is deleted without grace. */
function planLeaving(o: DrainObservation, pod: DrainPod, dueAt: Date, overdue: boolean, now: Date): PodPlan {
  if (overdue) return planRemoval(o, pod, now);
  const limit = later(dueAt, ENDING_BUFFER_MS);
  if (now < limit) return { pod, verb: 'wait', until: limit };
  return { pod, verb: 'wait', blocker: overstayBlocker(pod, dueAt, o.forcedBy) };
}
