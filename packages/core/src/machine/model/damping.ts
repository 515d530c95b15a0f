/** Recent status writes of this process about a machine's health. */
export interface HealthWrites {
  /** Number of writes that made the machine `Unknown`. */
  readonly unknown: number;
  /** Number of writes of conditions without a change of phase. */
  readonly mirrored: number;
  /** Time of the last write. */
  readonly at: Date;
  /** Time of the last read of the Node from its API server, if it was after the last write. */
  readonly readAt?: Date;
}

/** A write that sets the machine to `Unknown`, or a write that copies the conditions of the Node in the same phase. */
export type HealthWrite = 'unknown' | 'mirrored';

/** A write that is older than this does not count as flapping. */
export const FLAPPING_WINDOW_MS = 10 * 60_000;
/** Number of writes within the window that are not delayed. When a Node joins, its conditions are copied several times. */
const FREE: Readonly<Record<HealthWrite, number>> = { unknown: 1, mirrored: 10 };
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A read of the Node counts as recent for this time. A request takes less time. */
const FRESH_MS = 60_000;

/** The requirement before a write: a delay until a time, or a read of the Node. */
export type Damping = { readonly until: Date } | 'read';

/**
 * Returns what must happen before the next write about a machine's health. Returns undefined if the status may be written
 * now.
 *
 * If one of two processes has an outdated cache of Nodes, the two processes overwrite each other's status. After too many
 * writes in ten minutes, the next write needs a live read of the Node. The write also needs a delay, which doubles up to
 * one minute. The recovery of a machine is written without delay.
 */
export function dampingOf(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): Damping | undefined {
  if (!writes || isOver(writes, now) || writes[kind] < FREE[kind]) return undefined;
  const times = writes[kind] - FREE[kind];
  const until = new Date(writes.at.getTime() + Math.min(FIRST_PAUSE_MS * 2 ** times, LONGEST_PAUSE_MS));
  if (now < until) return { until };
  const isFresh = writes.readAt !== undefined && now.getTime() - writes.readAt.getTime() <= FRESH_MS;
  return isFresh ? undefined : 'read';
}

/** Returns the counts after another write. */
export function counted(writes: HealthWrites | undefined, kind: HealthWrite, now: Date): HealthWrites {
  const { unknown, mirrored } = writes && !isOver(writes, now) ? writes : { unknown: 0, mirrored: 0 };
  return {
    unknown: unknown + (kind === 'unknown' ? 1 : 0),
    mirrored: mirrored + (kind === 'mirrored' ? 1 : 0),
    at: now,
  };
}

/** The last report about a deletion that this process wrote. */
export interface Reported {
  readonly text: string;
  /** How often this process wrote the same text again, because another process had replaced the text. */
  readonly repeats: number;
  /** Time of the last write. */
  readonly at: Date;
}

/** Number of repeated reports that are not delayed. */
const FREE_REPEATS = 3;

/**
 * Returns the time until which the same report must not be written again. Returns undefined if the report may be written
 * now.
 *
 * For a moment, two processes can work on one machine, and each of them sees another reason for its wait. Without a delay,
 * the two processes overwrite each other's report without end. The delay doubles up to one minute.
 */
export function repeatAfter(reported: Reported | undefined, text: string, now: Date): Date | undefined {
  if (reported?.text !== text || isOver(reported, now) || reported.repeats < FREE_REPEATS) return undefined;
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** (reported.repeats - FREE_REPEATS), LONGEST_PAUSE_MS);
  const until = new Date(reported.at.getTime() + pause);
  return now < until ? until : undefined;
}

/** Returns the record after another report. */
export function reportedAgain(reported: Reported | undefined, text: string, now: Date): Reported {
  const isRepeat = reported?.text === text && !isOver(reported, now);
  return { text, repeats: isRepeat ? reported.repeats + 1 : 0, at: now };
}

const isOver = ({ at }: { readonly at: Date }, now: Date): boolean =>
  now.getTime() - at.getTime() >= FLAPPING_WINDOW_MS;
