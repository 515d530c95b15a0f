import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';

/** The timings of the election in milliseconds. */
export interface ElectionTimings {
  readonly leaseMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** Longer timings for a leader without work, in milliseconds. */
export interface QuietTimings extends Pick<ElectionTimings, 'leaseMs' | 'renewDeadlineMs'> {
  readonly renewMs: number;
  readonly now: () => boolean;
}

/** Timings of the election as in client-go, in milliseconds. */
export const DEFAULT_ELECTION_TIMINGS: ElectionTimings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 };

export interface ObservedLease {
  /** The `spec` of the Lease, as JSON. */
  readonly spec: string;
  readonly holder: string;
  readonly atMs: number;
}

/** Each holder of a Lease adds this finalizer when it acquires the Lease. */
interface LeaseFinalizer {
  readonly name: string;
  readonly kept: () => boolean;
}

/** The Lease, its candidate, and the settings of the election. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The identity of a candidate must be unique, because two processes with one identity would both be leaders. */
  readonly identity: string;
  readonly timings?: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly onLeader?: (identity: string, version: string | undefined) => void;
  /** Called if this process has no permission for the Lease. */
  readonly onForbidden?: (error: KubeError) => void;
  readonly onLost?: (because: string) => void;
  readonly version?: string;
  /** The flags of the leader for its Lease, which must not contain secrets. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly releasedAs?: () => string | undefined;
  readonly finalizer?: LeaseFinalizer | undefined;
  readonly observed?: () => ObservedLease | undefined;
  readonly renewMs?: number;
  /** Timings of a leader without work (default: constant timings). */
  readonly quiet?: QuietTimings | undefined;
  readonly follow?: boolean;
}
