import { Annotations, type Machine, parseDurationMs } from '@mcm/api';
import { createdAt, isAvailable, isFailed, isTerminating, lossBefore, phaseOf } from '../objects/machines.ts';

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
  /** Whether the machine's node is selected for an update in place: it is on its way down, whatever its phase. */
  readonly selected?: (machine: Machine) => boolean;
  /** Whether the last rollout is known to have arrived; absent: it is, as soon as no old machine stands. */
  readonly finished?: boolean;
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
  /** Being made, and for less than {@link joinPatienceMs}. */
  readonly joining: number;
  /** Being made for longer: nothing waits for these. */
  readonly late: number;
  /** Being updated in place, or selected for it, or that has failed. */
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
  /**
   * Of those, how many keep the next machine that never joined from being replaced: all but the ones of machines that
   * never joined either, which are gone and whose successors have been made.
   */
  readonly holding: number;
  /** Machines of an older template stand, or the deployment has not arrived since. */
  readonly rolling: boolean;
  /** Places that rollout and repair may yet take together. */
  readonly free: number;
  /** When the oldest of the joining machines becomes a late one. */
  readonly lateAt: Date | undefined;
}

/** How long a machine may take to be made unless it says so itself: the default of `--machine-creation-timeout`. */
export const JOIN_PATIENCE_MS = 20 * 60_000;

/**
 * Nothing waits for a machine that has been made for longer than this, in milliseconds: it should have joined, or be
 * marked as Failed by the machine controller.
 */
export const joinPatienceMs = ({ metadata, spec }: Machine): number =>
  parseDurationMs(metadata.annotations?.[Annotations.EffectiveCreationTimeout] ?? '') ??
  parseDurationMs(spec.creationTimeout ?? '') ??
  JOIN_PATIENCE_MS;

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
  /** Of those, the ones that failed: they have given their place in the budget back. */
  failedUpdates: number;
  leaving: number;
  /** Of the joining ones, those that take the place of another. */
  successors: number;
  /** Of those, the ones in the place of a machine that never joined. */
  ofUnjoined: number;
  /** Machines that stay unless something is decided. */
  alive: number;
  /** When the first of the joining ones is late, in milliseconds since 1970. */
  lateAt: number;
}

function tallyOf(
  { machines, isOurs }: LedgerSet,
  { leaving, selected, now }: Pick<LedgerInput, 'leaving' | 'selected' | 'now'>,
): Tally {
  const tally: Tally = {
    available: 0,
    failed: 0,
    silent: 0,
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
    else if (phase === 'Unknown') tally.silent++;
    else if (UPDATING.has(phase ?? '')) {
      tally.updating++;
      if (phase === 'InPlaceUpdateFailed') tally.failedUpdates++;
    } else if (BEING_MADE.has(phase)) {
      const lateAt = createdAt(machine) + joinPatienceMs(machine);
      if (lateAt <= now.getTime()) tally.late++;
      else {
        tally.joining++;
        const loss = lossBefore(machine);
        if (loss !== undefined || isOurs?.(machine) === false) tally.successors++;
        if (loss === 'unjoined') tally.ofUnjoined++;
        tally.lateAt = Math.min(tally.lateAt, lateAt);
      }
    }
  }
  return tally;
}

/** Places of the set whose machine was lost and for which none has been made. */
const openPlaces = ({ replicas, lost }: LedgerSet, { alive, leaving }: Tally): number =>
  Math.min(lost ?? leaving, Math.max(replicas - alive, 0));

/** Places of the set whose machine was lost and which wait for another one, made or not. */
const repairs = (set: LedgerSet, tally: Tally, isOld: boolean): number =>
  openPlaces(set, tally) + (isOld ? tally.joining : tally.successors);

/** Of those, without the ones of machines that never joined, are gone, and have a successor that was made. */
function holds(set: LedgerSet, tally: Tally): number {
  const open = openPlaces(set, tally);
  const stillThere = Math.max(tally.leaving - open, 0);
  return open + tally.successors - tally.ofUnjoined + Math.min(stillThere, tally.ofUnjoined);
}

/**
 * Machines that serve nobody and that nobody sees to. A smaller set gives these up first: what it has too many of them is
 * on its way out.
 */
function idling({ replicas }: LedgerSet, { alive, failed, silent, late, failedUpdates }: Tally): number {
  return Math.max(failed + silent + late + failedUpdates - Math.max(alive - replicas, 0), 0);
}

/** Machines that an old set makes, and keeps, in nobody's place. */
function firstBorn({ replicas }: LedgerSet, { alive, joining, successors }: Tally): number {
  return Math.max(joining - successors - Math.max(alive - replicas, 0), 0);
}

const add = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

/** Reads the account off the machines. Pure; it holds no entries that could be forgotten or outlive their cause. */
export function ledgerOf(input: LedgerInput): Ledger {
  const { replicas, unavailable, current, old, selected: _, ...rest } = input;
  const oldTallies = old.map((set) => ({ set, tally: tallyOf(set, input) }));
  const currentTally = current && { set: current, tally: tallyOf(current, rest) };
  const all = currentTally ? [...oldTallies, currentTally] : oldTallies;
  const of = (field: keyof Tally) => add(all, ({ tally }) => tally[field]);
  const available = add(all, ({ set, tally }) => Math.min(tally.available, set.replicas));
  const [failed, silent, late] = [of('failed'), of('silent'), of('late')];
  const missing = Math.max(replicas - available, 0);
  const waiting = add(all, ({ set, tally }) => idling(set, tally));
  const holding = add(all, ({ set, tally }) => holds(set, tally));
  const lateAt = Math.min(...all.map(({ tally }) => tally.lateAt));
  const underWay = Math.max(missing - waiting, 0);
  const repairing = add(all, ({ set, tally }) => repairs(set, tally, set !== current));
  const standing = old.some(({ replicas: size, machines }) => size > 0 || machines.length > 0);
  // What an old set makes for the first time, no rollout and no repair has taken away.
  const births = add(oldTallies, ({ set, tally }) => firstBorn(set, tally));
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
    underWay,
    repairing,
    holding,
    rolling: standing || (input.finished === false && old.length > 0),
    free: Math.max(budgetOf(unavailable) - (replicas - available - waiting - births), 0),
    lateAt: Number.isFinite(lateAt) ? new Date(lateAt) : undefined,
  };
}

/** Places that rollout and repair may take together. One may be repaired even where a rollout may make none unavailable. */
const budgetOf = (unavailable: number): number => Math.max(unavailable, 1);

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
): number => Math.max(rolling ? Math.min(limit, budgetOf(unavailable)) : limit, 1);

/**
 * Failed machines that may be replaced now. Beside a rollout never more than what it has left of the budget: it takes
 * nothing more as long as one of them waits, and gives a place back as soon as the machine for it joins or fails
 * (incident 14). Where there is no rollout, what the user began (a birth, a deletion by hand) keeps one repair from nothing.
 */
export function repairRoom(ledger: Ledger, limit: number): number {
  const { rolling, unavailable, underWay, repairing } = ledger;
  const allowance = repairAllowance(ledger, limit);
  // The surplus of a rollout stands in for machines that are replaced: they are no less under way for that.
  const taken = Math.max(underWay, repairing);
  if (rolling) return Math.max(Math.min(allowance - repairing, budgetOf(unavailable) - taken), 0);
  if (taken < allowance) return allowance - taken;
  return underWay > allowance && repairing === 0 ? 1 : 0;
}
