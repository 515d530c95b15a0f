import { Annotations, type Machine, parseDurationMs, phaseOf } from '@mcm/api';
import { createdAt, formerLostState, isAvailable, isFailed, isTerminating } from '../objects/machines.ts';

/** The input from one set for the disruption budget. */
export interface BudgetSet {
  readonly replicas: number;
  readonly machines: readonly Machine[];
  /** The number of replicas that lost their machine and have no replacement yet. */
  readonly lost?: number;
  /**
   * Returns true if mcm created the machine. Other controllers do not mark replacements, so the reason for their
   * machines is unknown.
   */
  readonly isOurs?: (machine: Machine) => boolean;
}

/** The input for the budget of a deployment, or of a set without a deployment. */
export interface BudgetInput {
  readonly replicas: number;
  readonly unavailable: number;
  readonly current: BudgetSet | undefined;
  readonly old: readonly BudgetSet[];
  readonly leaving?: ((machine: Machine) => boolean) | undefined;
  readonly selected?: ((machine: Machine) => boolean) | undefined;
  /** Whether the last rollout is complete (default: true if no old machine exists). */
  readonly finished?: boolean;
  readonly now: Date;
}

/**
 * The disruption budget of a deployment, and the part that is in use. Rollouts and replacements share the disruption budget, so each
 * disruption by a rollout reduces the number of possible replacements.
 */
export interface DisruptionBudget {
  readonly replicas: number;
  readonly unavailable: number;
  /** The number of available machines. For each set, at most as many machines as its replicas count. */
  readonly available: number;
  /** The number of failed machines whose replacement has not started. */
  readonly failed: number;
  readonly unreachable: number;
  readonly joining: number;
  /**
   * The number of machines that have not joined within `joinPatienceMs` after their creation. Rollouts and replacements
   * do not wait for these machines.
   */
  readonly late: number;
  readonly updating: number;
  readonly leaving: number;
  readonly missing: number;
  /** The number of machines that are unavailable because of a replacement, a rollout or an in-place update. */
  readonly underWay: number;
  /**
   * The number of replicas that lost their machine and whose replacement has not joined yet.
   * - An annotation marks a replacement, because the former machine may no longer exist.
   * - Machines that an old set creates, and machines of another controller, count as replacements even without the
   *   annotation.
   */
  readonly repairing: number;
  /**
   * The number of replicas in `repairing` that delay the next replacement. A replica does not count if its former
   * machine was removed before it joined, and its replacement exists. A machine that never joined has no pods to move.
   */
  readonly holding: number;
  /** Whether machines of an older template exist, or the rollout is not complete yet. */
  readonly rolling: boolean;
  readonly free: number;
  readonly lateAt: Date | undefined;
}

/** The default of `--machine-creation-timeout`, in milliseconds, for machines without a creation timeout. */
export const JOIN_PATIENCE_MS = 20 * 60_000;

/**
 * Returns the longest time for which replacements and rollouts wait for a new machine, in milliseconds. Within this
 * time, a new machine joins the cluster, or the machine controller marks it as Failed.
 */
export const joinPatienceMs = ({ metadata, spec }: Machine): number =>
  parseDurationMs(metadata.annotations?.[Annotations.EffectiveCreationTimeout] ?? '') ??
  parseDurationMs(spec.creationTimeout ?? '') ??
  JOIN_PATIENCE_MS;

const UPDATING: ReadonlySet<string | undefined> = new Set([
  'InPlaceUpdating',
  'InPlaceUpdateFailed',
  'InPlaceUpdateSuccessful',
]);
const BEING_MADE: ReadonlySet<string | undefined> = new Set([undefined, 'Pending', 'CrashLoopBackOff']);

interface Tally {
  available: number;
  failed: number;
  unreachable: number;
  joining: number;
  late: number;
  updating: number;
  failedUpdates: number;
  leaving: number;
  successors: number;
  ofUnjoined: number;
  alive: number;
  lateAt: number;
}

function tallyOf(
  { machines, isOurs }: BudgetSet,
  { leaving, selected, now }: Pick<BudgetInput, 'leaving' | 'selected' | 'now'>,
): Tally {
  const tally: Tally = {
    available: 0,
    failed: 0,
    unreachable: 0,
    joining: 0,
    late: 0,
    updating: 0,
    failedUpdates: 0,
    leaving: 0,
    successors: 0,
    ofUnjoined: 0,
    alive: 0,
    lateAt: Number.POSITIVE_INFINITY,
  };
  for (const machine of machines) {
    if (isTerminating(machine) || leaving?.(machine)) {
      tally.leaving++;
      continue;
    }
    tally.alive++;
    const phase = phaseOf(machine);
    if (isAvailable(machine)) tally[selected?.(machine) ? 'updating' : 'available']++;
    else if (isFailed(machine)) tally.failed++;
    else if (phase === 'Unknown') tally.unreachable++;
    else if (UPDATING.has(phase)) {
      tally.updating++;
      if (phase === 'InPlaceUpdateFailed') tally.failedUpdates++;
    } else if (BEING_MADE.has(phase)) {
      const lateAt = createdAt(machine) + joinPatienceMs(machine);
      if (lateAt <= now.getTime()) tally.late++;
      else {
        tally.joining++;
        const lostState = formerLostState(machine);
        if (lostState !== undefined || isOurs?.(machine) === false) tally.successors++;
        if (lostState === 'unjoined') tally.ofUnjoined++;
        tally.lateAt = Math.min(tally.lateAt, lateAt);
      }
    }
  }
  return tally;
}

const openReplicas = ({ replicas, lost }: BudgetSet, { alive, leaving }: Tally): number =>
  Math.min(lost ?? leaving, Math.max(replicas - alive, 0));

const repairs = (set: BudgetSet, tally: Tally, isOld: boolean): number =>
  openReplicas(set, tally) + (isOld ? tally.joining : tally.successors);

/**
 * Returns the number of replicas of a set that delay the next replacement. A replica does not count if its former
 * machine was removed before it joined, and its replacement exists.
 */
function holds(set: BudgetSet, tally: Tally): number {
  const open = openReplicas(set, tally);
  const stillThere = Math.max(tally.leaving - open, 0);
  return open + tally.successors - tally.ofUnjoined + Math.min(stillThere, tally.ofUnjoined);
}

/**
 * Returns the number of unavailable machines that are neither replaced nor updated. Machines above the replicas do not
 * count, because a set first deletes its unavailable machines.
 */
function idling({ replicas }: BudgetSet, { alive, failed, unreachable, late, failedUpdates }: Tally): number {
  return Math.max(failed + unreachable + late + failedUpdates - Math.max(alive - replicas, 0), 0);
}

function createdByScaleUp({ replicas }: BudgetSet, { alive, joining, successors }: Tally): number {
  return Math.max(joining - successors - Math.max(alive - replicas, 0), 0);
}

const add = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

/**
 * Computes the disruption budget. A stored budget could become outdated, so the budget is computed from the arguments
 * alone.
 */
export function disruptionBudgetOf(input: BudgetInput): DisruptionBudget {
  const { replicas, unavailable, current, old, selected: _, ...rest } = input;
  const oldTallies = old.map((set) => ({ set, tally: tallyOf(set, input) }));
  const currentTally = current && { set: current, tally: tallyOf(current, rest) };
  const all = currentTally ? [...oldTallies, currentTally] : oldTallies;
  const of = (field: keyof Tally) => add(all, ({ tally }) => tally[field]);
  const available = add(all, ({ set, tally }) => Math.min(tally.available, set.replicas));
  const [failed, unreachable, late] = [of('failed'), of('unreachable'), of('late')];
  const missing = Math.max(replicas - available, 0);
  const waiting = add(all, ({ set, tally }) => idling(set, tally));
  const holding = add(all, ({ set, tally }) => holds(set, tally));
  const lateAt = Math.min(...all.map(({ tally }) => tally.lateAt));
  const underWay = Math.max(missing - waiting, 0);
  const repairing = add(all, ({ set, tally }) => repairs(set, tally, set !== current));
  const standing = old.some(({ replicas: size, machines }) => size > 0 || machines.length > 0);
  const scaleUps = add(oldTallies, ({ set, tally }) => createdByScaleUp(set, tally));
  return {
    replicas,
    unavailable,
    available,
    failed,
    unreachable,
    joining: of('joining'),
    late,
    updating: of('updating'),
    leaving: of('leaving'),
    missing,
    underWay,
    repairing,
    holding,
    rolling: standing || (input.finished === false && old.length > 0),
    free: Math.max(budgetOf(unavailable) - (replicas - available - waiting - scaleUps), 0),
    lateAt: Number.isFinite(lateAt) ? new Date(lateAt) : undefined,
  };
}

const budgetOf = (unavailable: number): number => Math.max(unavailable, 1);

/**
 * Returns the number of available machines that a rollout may delete while the minimum number of machines stays
 * available.
 */
export const rolloutRoom = (available: number, replicas: number, unavailable: number): number =>
  Math.max(available - Math.max(replicas - unavailable, 0), 0);

/**
 * Returns the number of failed machines that may be replaced at the same time. During a rollout, the number is at most
 * the disruption budget, but at least one.
 */
export const repairAllowance = (
  { rolling, unavailable }: Pick<DisruptionBudget, 'rolling' | 'unavailable'>,
  limit: number,
): number => Math.max(rolling ? Math.min(limit, budgetOf(unavailable)) : limit, 1);

/**
 * Returns the number of failed machines that may be replaced now.
 * - During a rollout, the result is at most the unused part of the disruption budget. While a failed machine waits for
 *   its replacement, the rollout starts no new disruption. A disruption by the rollout ends when the new machine joins
 *   or fails (incident 14).
 * - Without a rollout, one replacement may start even if disruptions by a user already exceed the limit.
 */
export function repairRoom(budget: DisruptionBudget, limit: number): number {
  const { rolling, unavailable, underWay, repairing } = budget;
  const allowance = repairAllowance(budget, limit);
  // A replacement uses the disruption budget even if a surge machine compensates for the missing machine.
  const taken = Math.max(underWay, repairing);
  if (rolling) return Math.max(Math.min(allowance - repairing, budgetOf(unavailable) - taken), 0);
  if (taken < allowance) return allowance - taken;
  return underWay > allowance && repairing === 0 ? 1 : 0;
}
