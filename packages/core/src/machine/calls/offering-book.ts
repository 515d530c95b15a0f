import type { Clock } from '@mcm/kube';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { Choice } from '../../driver/offerings/alternative.ts';
import { FirstCalls, type Waiting } from './first-calls.ts';

/**
 * A probe of another cluster counts at most for this time. A driver call that does not end then blocks only its own
 * cluster.
 */
const PROBE_MS = 900_000;

/** A source of capacity: an offering, or a class in a zone. */
export interface Place {
  readonly key: string;
  /**
   * A shortage of a class applies only to these versions of the class and its Secrets. For an offering, the value is
   * empty, because a shortage of an offering applies to all classes.
   */
  readonly inputs: string;
  /** The offering. `choice` is undefined for a class in a zone. */
  readonly choice?: Choice;
}

/** A cluster that uses the book. */
export type Reader = object;

interface Probe {
  readonly reader: Reader;
  readonly since: number;
}

/** A shortage of a place. */
export interface Entry extends Place {
  error: MachineError;
  /** The cluster whose call the cloud refused. */
  reader: Reader;
  failures: number;
  retryAt: number;
  /** The number of creations that may run at the same time, which starts at 1 and doubles after each success. */
  allowed: number;
  /** The running `create` calls, by the UIDs of their machines. */
  readonly probing: Map<string, Probe>;
  readonly waiting: Waiting;
}

/**
 * The shortages and the first calls of offerings. The clusters of a fleet share one book. An offering contains a hash of
 * the credentials, so clusters with other credentials have other offerings. The texts of the cloud stay in the cluster
 * that called the cloud.
 */
export class OfferingBook {
  readonly entries = new Map<string, Entry>();
  readonly intents = new Map<string, { readonly key: string; readonly until: number }>();
  readonly firstCalls: FirstCalls;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.firstCalls = new FirstCalls({ clock });
  }

  /** The number of running probes that delay the machines of a cluster. */
  probes({ probing }: Entry, reader: Reader): number {
    const since = this.#clock.monotonic() - PROBE_MS;
    let count = 0;
    for (const probe of probing.values()) if (probe.reader === reader || probe.since > since) count++;
    return count;
  }
}
