import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';

/** Milliseconds; client-go's defaults are 15,000, 10,000 and 2000. */
export interface ElectionTimings {
  /** How long others wait, from when they saw the last renewal, before they take the Lease. */
  readonly leaseMs: number;
  /** How long a leader tries to renew before it stops. Less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** Time between two tries. */
  readonly retryMs: number;
}

/** Timings of the election as client-go has them, in milliseconds. */
export const DEFAULT_ELECTION_TIMINGS: ElectionTimings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000 };

/** The Lease, its candidate, and the settings of the election. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique to this process: two with the same would both lead. */
  readonly identity: string;
  readonly timings?: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called whenever another leader is seen, with its version where it says so. */
  readonly onLeader?: (identity: string, version: string | undefined) => void;
  /** Called whenever the API server refuses a request about the Lease. A candidate without access cannot lead. */
  readonly onForbidden?: (error: KubeError) => void;
  /** Called when the Lease is lost, with the reason. */
  readonly onLost?: (because: string) => void;
  /** Version of this program; written to the Lease, for the other candidates. */
  readonly version?: string;
  /** Flags that are not at their defaults; written to the Lease, for its readers. No secrets. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /**
   * Whether the candidate watches the Lease of another, to take it as soon as it is released. Needs the verb `watch`,
   * which the original's roles have. Default false: the candidate reads it every `retryMs` times 1 to 2.2, as client-go does.
   */
  readonly follow?: boolean;
}
