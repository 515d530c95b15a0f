import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';

/** The timings of the election in milliseconds. The defaults of client-go are 15,000, 10,000 and 2000. */
export interface ElectionTimings {
  /** The time after the last observed renewal at which other candidates may acquire the Lease. */
  readonly leaseMs: number;
  /** The time for which a leader tries to renew the Lease before it stops, which must be less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** Longer timings for a leader without work, in milliseconds. */
export interface QuietTimings extends Pick<ElectionTimings, 'leaseMs' | 'renewDeadlineMs'> {
  readonly renewMs: number;
  /** Whether the next renewal uses the longer timings. */
  readonly now: () => boolean;
}

/** Timings of the election as in client-go, in milliseconds. */
export const DEFAULT_ELECTION_TIMINGS: ElectionTimings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 };

export interface ObservedLease {
  /** The `spec` of the Lease as JSON. */
  readonly spec: string;
  readonly holder: string;
  /** The monotonic time at which this process first observed the state of the Lease. */
  readonly atMs: number;
}

/** Each holder of a Lease adds this finalizer when it acquires the Lease. */
interface LeaseFinalizer {
  readonly name: string;
  /** Whether a released Lease keeps the finalizer. */
  readonly kept: () => boolean;
}

/** The Lease, its candidate, and the settings of the election. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The identity must be unique, because two processes with one identity would both be leaders. */
  readonly identity: string;
  readonly timings?: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Reports each new leader, with its version if the Lease contains it. */
  readonly onLeader?: (identity: string, version: string | undefined) => void;
  /** Reports that this process has no permission for the Lease, and therefore cannot become the leader. */
  readonly onForbidden?: (error: KubeError) => void;
  readonly onLost?: (because: string) => void;
  /** The version of this program, which the Lease contains for other candidates. */
  readonly version?: string;
  /**
   * The flags that differ from their defaults. The Lease contains these flags for its readers, so they must not contain
   * secrets.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
  /**
   * Additional annotations of the Lease while this process holds it. A released Lease keeps the additional annotations.
   */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Returns the name of an annotation that marks the release of the Lease. The value is the number of transitions, so
   * the mark does not apply to later holders.
   */
  readonly releasedAs?: () => string | undefined;
  /** Keeps the Lease while its namespace is being deleted. Without `finalizer`, the API server deletes the Lease at once. */
  readonly finalizer?: LeaseFinalizer | undefined;
  /**
   * Returns the last state of the Lease that this process observed outside of the election. The duration of an
   * unchanged Lease starts at this observation instead of the start of the election.
   */
  readonly observed?: () => ObservedLease | undefined;
  /**
   * The time between two successful renewals (default: `retryMs`). After a failed renewal, the next attempt always
   * follows after `retryMs`.
   */
  readonly renewMs?: number;
  /**
   * Timings of a leader without work. Other candidates must use the duration in the Lease, which older versions of
   * client-go do not. By default, the timings are constant.
   */
  readonly quiet?: QuietTimings | undefined;
  /**
   * With `follow`, the process watches the Lease of another candidate, and acquires a released Lease immediately. The
   * watch needs the verb `watch`, which the roles of the original have. By default, the process reads the Lease at
   * intervals, like client-go.
   */
  readonly follow?: boolean;
}
