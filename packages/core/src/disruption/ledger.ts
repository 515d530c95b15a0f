import type { Machine } from '@mcm/api';
import { createdAt, isAvailable, isFailed, isReplacement, isTerminating, phaseOf } from '../set/machines.ts';

/** A set as the ledger sees it. */
export interface LedgerSet {
  /** `spec.replicas`. */
  readonly replicas: number;
  /** All machines that it controls, those that go included. */
  readonly machines: readonly Machine[];
  /** Places that lost their machine and have no other one yet; absent: those whose machine is still on its way out. */
  readonly lost?: number;
  /**
   * Whether a machine was made by this controller, which marks those that take the place of another; absent: all were.
   * Nobody can tell of others what they were made for.
   */
  readonly isOurs?: (machine: Machine) => boolean;
}

/** What a deployment, or a set of its own, is short of and may give up. */
export interface LedgerInput {
  /** Machines that are asked for. */
  readonly replicas: number;
  /** `maxUnavailable`, resolved. */
  readonly unavailable: number;
  /** The set of the present template. */
  readonly current: LedgerSet | undefined;
  readonly old: readonly LedgerSet[];
  /** Whether the machine's deletion was asked for, though the cache does not show it yet. */
  readonly leaving?: (machine: Machine) => boolean;
  readonly now: Date;
}

/**
 * One account of all disruption of a deployment, whatever its cause. Rollout and repair both draw from it: what the one
 * has taken the other does not have.
 */
export interface Ledger {
  readonly replicas: number;
  /** What may be missing. */
  readonly unavailable: number;
  /** Available, and to stay so: machines above their set's replicas are on their way out. */
  readonly available: number;
  /** Failed, and nobody has begun to replace them. */
  readonly failed: number;
  /** Nothing is heard of them. */
  readonly silent: number;
  /** Being made, for less than {@link JOIN_PATIENCE_MS}. */
  readonly joining: number;
  /** Being made for longer: nothing waits for these. */
  readonly late: number;
  /** Being updated in place, or that has failed. */
  readonly updating: number;
  /** On their way out, for whatever reason. */
  readonly leaving: number;
  /** Of the replicas, how many nobody stands for. */
  readonly missing: number;
  /** Of those, how many are being seen to: replaced, rolled or updated. The others have failed and wait. */
  readonly underWay: number;
  /**
   * Places whose machine was lost, until another one stands there: by a mark on the successor, which outlives the former
   * machine. What an old set makes counts with or without it, and so does what another controller made: after a
   * take-over a repair that the original began is not told from a step of its rollout, and both are over when the machine
   * has joined.
   */
  readonly repairing: number;
  /** Of those, how many still have their former machine. */
  readonly refilling: number;
  /** Machines of an older template stand. */
  readonly rolling: boolean;
  /** When the oldest of the joining machines becomes a late one. */
  readonly lateAt: Date | undefined;
}

/** Nothing waits longer than this for a machine that is being made: the default of `--machine-creation-timeout`. */
export const JOIN_PATIENCE_MS = 20 * 60_000;

const UPDATING: ReadonlySet<string> = new Set(['InPlaceUpdating', 'InPlaceUpdateFailed', 'InPlaceUpdateSuccessful']);
const BEING_MADE: ReadonlySet<string | undefined> = new Set([undefined, 'Pending', 'CrashLoopBackOff']);

/** What one set adds to the account. */
interface Tally {
  available: number;
  failed: number;
  silent: number;
  joining: number;
  late: number;
  updating: number;
  leaving: number;
  /** Of the joining ones, those that take the place of another. */
  successors: number;
  /** Machines that stay unless something is decided. */
  alive: number;
  oldestJoining: number;
}

function tallyOf({ machines, isOurs }: LedgerSet, { leaving, now }: Pick<LedgerInput, 'leaving' | 'now'>): Tally {
  const tally: Tally = {
    available: 0,
    failed: 0,
    silent: 0,
    joining: 0,
    late: 0,
    updating: 0,
    leaving: 0,
    successors: 0,
    alive: 0,
    oldestJoining: Number.POSITIVE_INFINITY,
  };
  for (const machine of machines) {
    if (isTerminating(machine) || leaving?.(machine)) {
      tally.leaving++;
      continue;
    }
    tally.alive++;
    const phase = phaseOf(machine);
    if (isAvailable(machine)) tally.available++;
    else if (isFailed(machine)) tally.failed++;
    else if (phase === 'Unknown') tally.silent++;
    else if (UPDATING.has(phase ?? '')) tally.updating++;
    else if (BEING_MADE.has(phase)) {
      const since = createdAt(machine);
      if (since + JOIN_PATIENCE_MS <= now.getTime()) tally.late++;
      else {
        tally.joining++;
        if (isReplacement(machine) || isOurs?.(machine) === false) tally.successors++;
        tally.oldestJoining = Math.min(tally.oldestJoining, since);
      }
    }
  }
  return tally;
}

/** Machines of the set that go and are made anew, and of those the ones that have not gone yet. */
function refills({ replicas }: LedgerSet, { alive, joining, leaving }: Tally): number {
  return Math.min(leaving, Math.max(replicas - alive, 0) + joining);
}

/** Places of the set whose machine was lost and which wait for another one, made or not. */
function repairs(
  { replicas, lost }: LedgerSet,
  { alive, leaving, joining, successors }: Tally,
  isOld: boolean,
): number {
  const open = Math.max(replicas - alive, 0);
  return Math.min(lost ?? leaving, open) + (isOld ? joining : successors);
}

/**
 * Machines that serve nobody and that nobody sees to. A smaller set gives these up first: what it has too many of them is
 * on its way out.
 */
function idling({ replicas }: LedgerSet, { alive, failed, silent, late }: Tally): number {
  return Math.max(failed + silent + late - Math.max(alive - replicas, 0), 0);
}

const add = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

/** Reads the account off the machines. Pure; it holds no entries that could be forgotten or outlive their cause. */
export function ledgerOf(input: LedgerInput): Ledger {
  const { replicas, unavailable, current, old } = input;
  const oldTallies = old.map((set) => ({ set, tally: tallyOf(set, input) }));
  const currentTally = current && { set: current, tally: tallyOf(current, input) };
  const all = currentTally ? [...oldTallies, currentTally] : oldTallies;
  const of = (field: keyof Tally) => add(all, ({ tally }) => tally[field]);
  const available = add(all, ({ set, tally }) => Math.min(tally.available, set.replicas));
  const [failed, silent, late] = [of('failed'), of('silent'), of('late')];
  const missing = Math.max(replicas - available, 0);
  const waiting = add(all, ({ set, tally }) => idling(set, tally));
  const refilling = add(all, ({ set, tally }) => refills(set, tally));
  const oldest = Math.min(...all.map(({ tally }) => tally.oldestJoining));
  return {
    replicas,
    unavailable,
    available,
    failed,
    silent,
    joining: of('joining'),
    late,
    updating: of('updating'),
    leaving: of('leaving'),
    missing,
    underWay: Math.max(missing - waiting, 0),
    repairing: add(all, ({ set, tally }) => repairs(set, tally, set !== current)),
    refilling,
    rolling: old.some(({ replicas: size, machines }) => size > 0 || machines.length > 0),
    lateAt: Number.isFinite(oldest) ? new Date(oldest + JOIN_PATIENCE_MS) : undefined,
  };
}

/**
 * Available machines that a rollout may give up: what is above the least that must stay, and so nothing of what failures
 * and repairs have taken already.
 */
export const rolloutRoom = (available: number, replicas: number, unavailable: number): number =>
  Math.max(available - Math.max(replicas - unavailable, 0), 0);

/**
 * Replacements of failed machines that may be under way at once: the limit; beside a rollout no more than both together
 * may take; at least one.
 * @param limit `--max-unhealthy-replacements`, resolved.
 */
export const repairAllowance = (
  { rolling, unavailable }: Pick<Ledger, 'rolling' | 'unavailable'>,
  limit: number,
): number => Math.max(rolling ? Math.min(limit, unavailable) : limit, 1);

/**
 * Failed machines that may be replaced now. A deployment whose budget others have used up is repaired by one at a time
 * all the same: a rollout whose new machines never come must not wait for a repair that waits for it (incident 14).
 */
export function repairRoom(ledger: Ledger, limit: number): number {
  const { rolling, unavailable, underWay, repairing } = ledger;
  const allowance = repairAllowance(ledger, limit);
  // The surplus of a rollout stands in for machines that are replaced: they are no less under way for that.
  const taken = Math.max(underWay, repairing);
  if (taken < allowance) return allowance - taken;
  const byOthers = rolling ? underWay <= unavailable : underWay > allowance;
  return byOthers && repairing === 0 ? 1 : 0;
}
