import type { Interruption } from './notice.ts';

const MINUTE = 60_000;

/**
 * The shortest notice after which a machine first waits for its replacement. After a shorter notice, the drain starts
 * at once.
 */
const SUCCESSOR_FIRST_FROM_MS = 10 * MINUTE;

/** The maximum time between the start of the forced drain and the end of the VM. */
const LONGEST_MARGIN_MS = 10_000;

/** If the VM still exists this long after the deadline, mcm ignores the interruption. */
const FORGOTTEN_AFTER_MS = 10 * MINUTE;

export interface InterruptionTimes {
  /** The latest start of the drain. Until this time, the machine waits for its replacement. */
  readonly drainAt: Date;
  readonly forceAt: Date;
  /** Whether the notice is short, so that the drain evicts all pods at once. */
  readonly short: boolean;
}

/**
 * Computes the times of the drain from the announced interruption. With a notice of 120 s, the drain is forced 10 s
 * before the end of the VM. With a notice of 30 s, the drain is forced 5 s before the end of the VM. With a notice of
 * at least 10 minutes, the machine first waits for its replacement.
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

export const isOver = ({ deadline }: Interruption, now: Date): boolean =>
  now.getTime() - deadline.getTime() > FORGOTTEN_AFTER_MS;
