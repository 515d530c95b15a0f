import { blockingBudget, budgetVersions, protectedByBudgets } from './budgets.ts';
import type { Attempt, DrainObservation, DrainPod, PodRef } from './observation.ts';
import { verdictOf } from './pod-filters.ts';
import { mayMove, nextPlaceAt, planVolumes } from './volumes.ts';

/** Something that holds up a drain, by name. */
export interface Blocker {
  /** `pod`, `budget` or `volume`, with what it is about; stable from look to look, so that it is written once. */
  readonly text: string;
  /** Something is wrong, not merely slow. */
  readonly failed: boolean;
  /** Key of the PodDisruptionBudget whose change ends the wait. */
  readonly budget?: string;
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
  if (o.forced || now >= o.forceAt) return planForced(o, going);
  const pods = going.map((pod) => planPod(o, pod, now));
  const volumes = going.length === 0 ? planVolumes(o, now) : { blockers: [], waits: false };
  const plan = {
    forced: false,
    evict: pods.filter(({ verb }) => verb === 'evict').map(({ pod }) => pod),
    remove: pods.filter(({ verb }) => verb === 'remove').map(({ pod }) => pod),
    leaving: pods.filter(({ verb }) => verb === 'wait').map(({ pod }) => pod),
    blockers: [...pods.flatMap(({ blocker }) => (blocker ? [blocker] : [])), ...volumes.blockers],
  };
  if (going.length === 0 && !volumes.waits) return { ...plan, drained: true };
  const instants = [...pods.flatMap(({ until }) => (until ? [until] : [])), ...(volumes.until ? [volumes.until] : [])];
  const deadlines = [o.forceAt, ...(now < o.evictUntil ? [o.evictUntil] : [])];
  const lookAgainAt = new Date(Math.min(...[...instants, ...deadlines].map((instant) => instant.getTime())));
  return { ...plan, drained: false, lookAgainAt };
}

/** Every pod is told to go without grace, once; nobody waits for them and no error holds the drain up. */
function planForced(o: DrainObservation, going: readonly DrainPod[]): DrainPlan {
  const remove = going.filter((pod) => o.memory.attempts.get(forcedKey(pod)) === undefined);
  return { drained: remove.length === 0, forced: true, evict: [], remove, leaving: [], blockers: [] };
}

/** Attempts to delete a pod without grace are kept apart from evictions of it. */
export const forcedKey = (pod: PodRef): string => `${pod.uid}/forced`;

interface PodPlan {
  readonly pod: DrainPod;
  readonly verb: 'evict' | 'remove' | 'wait';
  readonly until?: Date;
  readonly blocker?: Blocker;
}

const wait = (pod: DrainPod, until: Date | undefined): PodPlan => ({ pod, verb: 'wait', ...(until ? { until } : {}) });

const nameOf = (pod: PodRef): string => `${pod.namespace}/${pod.name}`;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

function planPod(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const overdue = now >= o.evictUntil;
  if (pod.dueAt) return planLeaving(o, pod, pod.dueAt, overdue, now);
  if (!mayMove(o, pod, now)) return wait(pod, nextPlaceAt(o, now));
  if (overdue) return planRemoval(o, pod, now);
  const attempt = o.memory.attempts.get(pod.uid);
  // The answer to an eviction comes before the watch tells of the pod's new deletionTimestamp.
  if (attempt?.result === 'asked' && now < later(attempt.at, ENDING_BUFFER_MS)) {
    return { pod, verb: 'wait', until: later(attempt.at, ENDING_BUFFER_MS) };
  }
  const misconfigured = protectedByBudgets(pod) ? pod.budgets.find((budget) => budget.misconfigured) : undefined;
  if (misconfigured && pod.ready) return { pod, verb: 'wait', blocker: misconfiguredBlocker(pod, misconfigured.key) };
  const blocking = blockingBudget(pod);
  if (blocking) {
    return { pod, verb: 'wait', until: later(now, BUDGET_RECHECK_MS), blocker: budgetBlocker(pod, blocking.key) };
  }
  return planRetry(pod, attempt, now);
}

const misconfiguredBlocker = (pod: DrainPod, budget: string): Blocker => ({
  text: `error while evicting pod "${nameOf(pod)}": pod disruption budget ${budget} is misconfigured and requires zero voluntary evictions`,
  failed: true,
  budget,
});

const budgetBlocker = (pod: DrainPod, budget: string): Blocker => ({
  text: `pod ${nameOf(pod)} waits for pod disruption budget ${budget}, which allows no disruption now`,
  failed: false,
  budget,
});

/** A pod that was refused before waits for its turn; one that was not goes. */
function planRetry(pod: DrainPod, attempt: Attempt | undefined, now: Date): PodPlan {
  if (!attempt || attempt.result === 'asked') return { pod, verb: 'evict' };
  if (attempt.result === 'blocked' && attempt.budgets !== budgetVersions(pod)) return { pod, verb: 'evict' };
  const { firstMs, maxMs } = attempt.result === 'blocked' ? BLOCKED_RETRY_MS : FAILED_RETRY_MS;
  const pause = Math.max(Math.min(firstMs * 2 ** (attempt.count - 1), maxMs), attempt.retryAfterMs ?? 0);
  const until = later(attempt.at, pause);
  if (now >= until) return { pod, verb: 'evict' };
  return { pod, verb: 'wait', until, blocker: refusedBlocker(pod, attempt) };
}

function refusedBlocker(pod: DrainPod, attempt: Attempt): Blocker {
  const budget = pod.budgets[0]?.key;
  if (attempt.result !== 'blocked') {
    return { text: `error when evicting pod "${nameOf(pod)}": ${attempt.message}`, failed: true };
  }
  return budget
    ? budgetBlocker(pod, budget)
    : { text: `pod ${nameOf(pod)} waits: its eviction is refused for now`, failed: false };
}

/** Evicting has had its time: the pod is deleted without grace, budgets or not. */
function planRemoval(o: DrainObservation, pod: DrainPod, now: Date): PodPlan {
  const attempt = o.memory.attempts.get(forcedKey(pod));
  if (!attempt) return { pod, verb: 'remove' };
  const until = later(attempt.at, attempt.result === 'asked' ? ENDING_BUFFER_MS : FAILED_RETRY_MS.firstMs);
  if (now >= until) return { pod, verb: 'remove' };
  const blocker = { text: `error when deleting pod "${nameOf(pod)}": ${attempt.message}`, failed: true };
  return { pod, verb: 'wait', until, ...(attempt.result === 'asked' ? {} : { blocker }) };
}

/** A pod on its way out that overstays is named, and once evicting has had its time, deleted without grace. */
function planLeaving(o: DrainObservation, pod: DrainPod, dueAt: Date, overdue: boolean, now: Date): PodPlan {
  if (overdue) return planRemoval(o, pod, now);
  const limit = later(dueAt, ENDING_BUFFER_MS);
  if (now < limit) return { pod, verb: 'wait', until: limit };
  return { pod, verb: 'wait', blocker: { text: `pod ${nameOf(pod)} does not end`, failed: false } };
}
