/** What this process has written of a machine's health lately. */
export interface HealthWrites {
  /** Times that it made the machine `Unknown`. */
  readonly unknown: number;
  /** Times that it wrote conditions in the same phase. */
  readonly mirrored: number;
  /** Of the last of them. */
  readonly at: Date;
  /** When the Node was last read from its server, after that. */
  readonly readAt?: Date;
}

/** A write that says that a machine is unhealthy, or what its Node says without a change of phase. */
export type HealthWrite = 'unknown' | 'mirrored';

/** Writes that are this old or older are no flapping. */
export const FLAPPING_WINDOW_MS = 10 * 60_000;
/** Writes within the window that nothing holds back. A machine that joins mirrors its Node's conditions several times. */
const FREE: Readonly<Record<HealthWrite, number>> = { unknown: 1, mirrored: 10 };
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A read of the Node counts as fresh for this long: longer than a request takes. */
const FRESH_MS = 60_000;

/** What must happen before a write: the time that must pass, or a read of the Node. */
export type Damping = { readonly until: Date } | 'read';

/**
 * What holds a write about a machine's health back. Two processes of which one has a stale cache of Nodes contradict
 * each other, and each write of the one is the cause of the next one of the other. So a machine that was written about
 * within the last ten minutes is written about again only after a live read of its Node, and, time by time, after a pause
 * that doubles up to a minute. A machine that recovers is not held back.
 */
export function dampingOf(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): Damping | undefined {
  if (!writes || isOver(writes, now) || writes[kind] < FREE[kind]) return undefined;
  const times = writes[kind] - FREE[kind];
  const until = new Date(writes.at.getTime() + Math.min(FIRST_PAUSE_MS * 2 ** times, LONGEST_PAUSE_MS));
  if (now < until) return { until };
  const isFresh = writes.readAt !== undefined && now.getTime() - writes.readAt.getTime() <= FRESH_MS;
  return isFresh ? undefined : 'read';
}

/** The account after another write. */
export function counted(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): HealthWrites {
  const { unknown, mirrored } = writes && !isOver(writes, now) ? writes : { unknown: 0, mirrored: 0 };
  return {
    unknown: unknown + (kind === 'unknown' ? 1 : 0),
    mirrored: mirrored + (kind === 'mirrored' ? 1 : 0),
    at: now,
  };
}

const isOver = ({ at }: HealthWrites, now: Date): boolean => now.getTime() - at.getTime() >= FLAPPING_WINDOW_MS;
