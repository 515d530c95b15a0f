import type { Interruption } from './notice.ts';

const MINUTE = 60_000;

/**
 * The shortest notice that leaves time for a successor: about the time from a create call to a Ready node, twice. With a
 * shorter notice the drain begins at once, while the successor is created.
 */
const SUCCESSOR_FIRST_FROM_MS = 10 * MINUTE;

/** The time between a forced end of the drain and the end of the VM, at most. */
const LONGEST_MARGIN_MS = 10_000;

/** A passed interruption has no effect after this time, because the VM has survived it. */
const FORGOTTEN_AFTER_MS = 10 * MINUTE;

/** The steps before the end of an interrupted VM. */
export interface InterruptionTimes {
  /** The drain begins at the latest then. Before, the machine waits for its successor. */
  readonly drainAt: Date;
  /** The drain is forced. */
  readonly forceAt: Date;
  /** The drain begins at once, and evicts all pods at the same time. */
  readonly short: boolean;
}

/**
 * The times of an interruption. A notice of 120 s forces the drain 10 s before the end of the VM, and one of 30 s 5 s
 * before. A longer notice first waits for the successor, and leaves half of the time or the drain timeout for the drain.
 */
export function timesOf({ noticedAt, deadline }: Interruption, drainTimeoutMs: number): InterruptionTimes {
  const notice = Math.max(deadline.getTime() - noticedAt.getTime(), 0);
  const short = notice < SUCCESSOR_FIRST_FROM_MS;
  const before = (ms: number): Date => new Date(deadline.getTime() - ms);
  return {
    short,
    drainAt: short ? noticedAt : before(Math.min(drainTimeoutMs, notice / 2)),
    forceAt: before(Math.min(LONGEST_MARGIN_MS, notice / 6)),
  };
}

/** Returns true if the deadline passed so long ago that the VM has survived it. */
export const isOver = ({ deadline }: Interruption, now: Date): boolean =>
  now.getTime() - deadline.getTime() > FORGOTTEN_AFTER_MS;
