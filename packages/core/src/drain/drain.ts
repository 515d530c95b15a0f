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
import { mayMove, nextPlaceAt } from './volumes/volumes.ts';

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
  /** The time to drain is over, pods are left, and this policy keeps them; absent: the drain can still end by itself. */
  readonly undrained?: UndrainablePolicy;
  /** The cache has no pods that must go, but its watch was interrupted. */
  readonly awaitsWatch?: true;
  /** Volumes that did not come off in time, and are waited for no longer. */
  readonly leftAttached: readonly Blocker[];
  /** Look again then, if no event has come. */
  readonly lookAgainAt?: Date;
}

/** Added to a pod's grace period before it counts as one that will not end. Source: drain.go. */
export const ENDING_BUFFER_MS = 30_000;

/** The watch of budgets is trusted; this is for the case that a budget's change and a pod's were seen in the wrong order. */
const BUDGET_RECHECK_MS = 120_000;

/** An interrupted watch continues after one request. */
const WATCH_RECHECK_MS = 1_000;

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
  if (o.unseen?.pods !== undefined && !o.forced) return planBlind(o, o.unseen.pods);
  if (o.forced || (overdue && !isHeld(o))) return planForced(o, going);
  if (overdue && o.policy === 'Quarantine' && going.length > 0) return planQuarantine(o, going, now);
  const undrained = overdue && going.length > 0 ? o.policy : undefined;
  const pods = going.map((pod) => withName(planPod(o, pod, now)));
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
    ...(undrained ? { undrained } : {}),
  };
  const isEmpty = going.length === 0 && !volumes.waits && unseen === undefined;
  // No event reports that the watch continues, so a time does.
  if (isEmpty && o.podsUnproven && !overdue)
    return { ...plan, drained: false, awaitsWatch: true, lookAgainAt: new Date(now.getTime() + WATCH_RECHECK_MS) };
  if (isEmpty) return { ...plan, drained: true };
  const instants = [...pods.flatMap(({ until }) => (until ? [until] : [])), ...(volumes.until ? [volumes.until] : [])];
  const deadlines = [o.forceAt, ...(isHeld(o) ? [] : [o.evictUntil])].filter((deadline) => now < deadline);
  const times = [...instants, ...deadlines].map((instant) => instant.getTime());
  return { ...plan, drained: false, ...(times.length > 0 ? { lookAgainAt: new Date(Math.min(...times)) } : {}) };
}

/** Without sight of its pods nobody knows whom the VM would take along: time alone forces nothing. */
const planBlind = (o: DrainObservation, unseen: string): DrainPlan => ({
  ...NOTHING,
  blockers: [unseenBlocker(unseen, [], o.forcedBy)],
});

/** Its volumes are to be seen off the node, and cannot be seen. */
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

/** Neither time nor a silent node forces this drain. */
const isHeld = ({ policy = 'Force' }: DrainObservation): boolean => policy !== 'Force';

/** What is left on the cordoned node ends in its own time. A pod is asked again when a change of its budgets lets it go. */
function planQuarantine(o: DrainObservation, going: readonly DrainPod[], now: Date): DrainPlan {
  const released = going.filter((pod) => isReleased(o, pod));
  // Places for volumes are shared out among these only: the others are not asked to move.
  const moving = { ...o, pods: going.filter((pod) => pod.dueAt || released.includes(pod)) };
  const evict = released.filter((pod) => mayMove(moving, pod, now));
  const nextAt = evict.length < released.length ? nextPlaceAt(moving, now) : undefined;
  return {
    ...NOTHING,
    evict,
    leaving: going.filter((pod) => !evict.includes(pod)),
    blockers: [heldBlocker(o, going)],
    undrained: 'Quarantine',
    ...(nextAt ? { lookAgainAt: nextAt } : {}),
  };
}

/**
 * Whether the pod's budgets have changed since this process last asked it to go, and allow it now. A process that has not
 * asked it yet asks a pod with budgets once: the change may have come while no process ran.
 */
function isReleased(o: DrainObservation, pod: DrainPod): boolean {
  if (pod.dueAt || needsVolumes(o, pod) || budgetBlockerOf(pod)) return false;
  if (pod.budgets.some(({ stale }) => stale)) return false;
  return (o.memory.attempts.get(pod.uid)?.budgets ?? '') !== budgetVersions(pod);
}

/** Every pod is told to go without grace, once; nobody waits for them and no error holds the drain up. */
function planForced(o: DrainObservation, going: readonly DrainPod[]): DrainPlan {
  const remove = going.filter((pod) => o.memory.attempts.get(forcedKey(pod)) === undefined);
  const removeBecause = o.forced
    ? `as label ${o.forcedBy ?? 'force-deletion=true'} asks`
    : o.unresponsive
      ? 'as nobody on the node answers any more'
      : 'as the time to drain is over';
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

const EVICTED_IN_VAIN = 'as the time to evict them is over (maxEvictRetries, drainTimeout)';

/** Attempts to delete a pod without grace are kept apart from evictions of it. */
export const forcedKey = (pod: PodRef): string => `${pod.uid}/forced`;

interface PodPlan {
  readonly pod: DrainPod;
  readonly verb: 'evict' | 'remove' | 'wait';
  readonly until?: Date;
  readonly blocker?: Blocker;
  /** It waits for volumes of other pods. */
  readonly turn?: true;
}

const wait = (pod: DrainPod, until: Date | undefined): PodPlan => ({ pod, verb: 'wait', ...(until ? { until } : {}) });

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

/** Evicting has had its time: the pod is deleted without grace, budgets or not. */
function planRemoval(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const attempt = o.memory.attempts.get(forcedKey(pod));
  if (!attempt) return { pod, verb: 'remove' };
  const until = later(attempt.at, attempt.result === 'asked' ? ENDING_BUFFER_MS : FAILED_RETRY_MS.firstMs);
  if (now >= until) return { pod, verb: 'remove' };
  return {
    pod,
    verb: 'wait',
    until,
    ...(attempt.result === 'asked' ? {} : { blocker: undeletedBlocker(pod, attempt) }),
  };
}

/** A pod on its way out that overstays is named, and once evicting has had its time, deleted without grace. */
function planLeaving(o: DrainObservation, pod: DrainPod, dueAt: Date, overdue: boolean, now: Date): PodPlan {
  if (overdue) return planRemoval(o, pod, now);
  const limit = later(dueAt, ENDING_BUFFER_MS);
  if (now < limit) return { pod, verb: 'wait', until: limit };
  return { pod, verb: 'wait', blocker: overstayBlocker(pod, dueAt, o.forcedBy) };
}
