import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';

/** The timings of the election in milliseconds. The defaults of client-go are 15,000, 10,000 and 2,000. */
export interface ElectionTimings {
  /** Other candidates may acquire the Lease when they have observed no renewal for this time. */
  readonly leaseMs: number;
  /** A leader that cannot renew the Lease for this time stops. The time must be less than `leaseMs`. */
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
  /** The `spec` of the Lease, as JSON. */
  readonly spec: string;
  readonly holder: string;
  /** The monotonic time at which this process first observed the state of the Lease. */
  readonly atMs: number;
}

/** Each holder of a Lease adds this finalizer when it acquires the Lease. */
interface LeaseFinalizer {
  readonly name: string;
  /** Returns true if a released Lease must keep the finalizer. */
  readonly kept: () => boolean;
}

/** The Lease, its candidate, and the settings of the election. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /**
   * The identity of the candidate. The identity must be unique, because two processes with one identity would both be
   * leaders.
   */
  readonly identity: string;
  readonly timings?: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called for each new leader, with its version if the Lease contains the version. */
  readonly onLeader?: (identity: string, version: string | undefined) => void;
  /** Called if this process has no permission for the Lease. The process cannot become the leader. */
  readonly onForbidden?: (error: KubeError) => void;
  readonly onLost?: (because: string) => void;
  /** The version of this program. The Lease contains the version for other candidates. */
  readonly version?: string;
  /**
   * The flags with other values than their defaults. The Lease contains these flags, so they must not contain secrets.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
  /**
   * Additional annotations of the Lease while this process holds it. The annotations stay when the Lease is released.
   */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * Returns the name of an annotation that is written when the Lease is released. The annotation contains the number of
   * transitions, so it does not apply to later holders.
   */
  readonly releasedAs?: () => string | undefined;
  /** Keeps the Lease while its namespace is being deleted. Without `finalizer`, the API server deletes the Lease at once. */
  readonly finalizer?: LeaseFinalizer | undefined;
  /**
   * Returns the state of the Lease that this process observed before the election. If the Lease is unchanged, its
   * duration starts at this observation instead of the start of the election.
   */
  readonly observed?: () => ObservedLease | undefined;
  /**
   * The time between two successful renewals (default: `retryMs`). After a failed renewal, the next attempt always
   * follows after `retryMs`.
   */
  readonly renewMs?: number;
  /**
   * Timings of a leader without work (default: constant timings). Other candidates must read the lease duration from
   * the Lease, but older versions of client-go ignore it.
   */
  readonly quiet?: QuietTimings | undefined;
  /**
   * Whether the process watches the Lease of another candidate, so that it acquires a released Lease immediately. The
   * watch needs the verb `watch`, which the roles of the original contain. By default, the process reads the Lease at
   * intervals, as client-go does.
   */
  readonly follow?: boolean;
}
