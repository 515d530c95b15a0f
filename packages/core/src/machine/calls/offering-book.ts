import type { Clock } from '@mcm/kube';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { Choice } from '../../driver/offerings/alternative.ts';
import { FirstCalls, type Waiting } from './first-calls.ts';

/**
 * The longest time for which a probe delays the machines of other clusters. A driver call that never ends therefore
 * blocks only its own cluster.
 */
const PROBE_MS = 900_000;

/** A source of capacity: an offering, or a class in a zone. */
export interface Place {
  readonly key: string;
  /** The versions of the class and its Secrets to which the shortage applies, or an empty text for an offering. */
  readonly inputs: string;
  /** The offering. */
  readonly choice?: Choice;
}

/** Identifies a cluster. Clusters with the same cloud account share their records of offerings without capacity. */
export type Reader = object;

interface Probe {
  readonly reader: Reader;
  readonly since: number;
}

export interface Entry extends Place {
  error: MachineError;
  reader: Reader;
  failures: number;
  retryAt: number;
  /** The number of creations that may run at the same time, starting at 1 and doubled after each success. */
  allowed: number;
  readonly probing: Map<string, Probe>;
  readonly waiting: Waiting;
}

/**
 * Contains the shortages and the first calls of offerings, which all clusters of a fleet share. An offering contains a
 * hash of the credentials, so a shortage never applies to clusters with different credentials. The error text of the
 * cloud is visible only in the cluster that called the cloud.
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

  probes({ probing }: Entry, reader: Reader): number {
    const since = this.#clock.monotonic() - PROBE_MS;
    let count = 0;
    for (const probe of probing.values()) if (probe.reader === reader || probe.since > since) count++;
    return count;
  }
}
