export interface HealthWrites {
  readonly unknown: number;
  readonly mirrored: number;
  readonly at: Date;
  readonly readAt?: Date;
}

/** The kind of a health write: a new phase `Unknown`, or new conditions without a change of the phase. */
export type HealthWrite = 'unknown' | 'mirrored';

export const FLAPPING_WINDOW_MS = 10 * 60_000;
/** The number of health writes in ten minutes that mcm does not delay, because a join causes several writes. */
const FREE: Readonly<Record<HealthWrite, number>> = { unknown: 1, mirrored: 10 };
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const FRESH_MS = 60_000;

/** The requirement for the next write: mcm must wait until a time, or read the Node from the API server. */
export type Damping = { readonly until: Date } | 'read';

/**
 * Decides whether a health write needs a delay.
 *
 * Two processes with different caches of Nodes can overwrite each other's status. After too many writes in ten minutes,
 * a write requires a read of the Node and a delay of up to one minute. mcm never delays a write that reports a
 * recovery.
 */
export function dampingOf(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): Damping | undefined {
  if (!writes || isOver(writes, now) || writes[kind] < FREE[kind]) return undefined;
  const times = writes[kind] - FREE[kind];
  const until = new Date(writes.at.getTime() + Math.min(FIRST_PAUSE_MS * 2 ** times, LONGEST_PAUSE_MS));
  if (now < until) return { until };
  const isFresh = writes.readAt !== undefined && now.getTime() - writes.readAt.getTime() <= FRESH_MS;
  return isFresh ? undefined : 'read';
}

export function counted(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): HealthWrites {
  const { unknown, mirrored } = writes && !isOver(writes, now) ? writes : { unknown: 0, mirrored: 0 };
  return {
    unknown: unknown + (kind === 'unknown' ? 1 : 0),
    mirrored: mirrored + (kind === 'mirrored' ? 1 : 0),
    at: now,
  };
}

export interface Reported {
  readonly text: string;
  readonly repeats: number;
  readonly at: Date;
}

const FREE_REPEATS = 3;

/**
 * Returns the time of the next write of a repeated report, or undefined if the write is allowed now.
 *
 * Two processes can work on one machine for a moment and see different reasons. The delay of a repeated report doubles
 * up to one minute, so that two processes do not overwrite each other forever.
 */
export function repeatAfter(reported: Reported | undefined, text: string, now: Date): Date | undefined {
  if (reported?.text !== text || isOver(reported, now) || reported.repeats < FREE_REPEATS) return undefined;
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** (reported.repeats - FREE_REPEATS), LONGEST_PAUSE_MS);
  const until = new Date(reported.at.getTime() + pause);
  return now < until ? until : undefined;
}

export function reportedAgain(reported: Reported | undefined, text: string, now: Date): Reported {
  const isRepeat = reported?.text === text && !isOver(reported, now);
  return { text, repeats: isRepeat ? reported.repeats + 1 : 0, at: now };
}

/** A time in the future shows that the clock was set back, so the earlier writes no longer count. */
function isOver({ at }: { readonly at: Date }, now: Date): boolean {
  const ageMs = now.getTime() - at.getTime();
  return ageMs < 0 || ageMs >= FLAPPING_WINDOW_MS;
}
