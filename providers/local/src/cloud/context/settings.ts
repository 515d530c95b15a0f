import type { Clock, Logger, Random } from '@mcm/kube';
import type { InstanceHost } from '../../machine/model.ts';

/** Delays of the simulated cloud in milliseconds (default: 0). */
export interface Latencies {
  readonly bootMs: number;
  readonly shutdownMs: number;
  readonly volumeMs: number;
  readonly apiMs: number;
}

export const NO_LATENCY: Latencies = { bootMs: 0, shutdownMs: 0, volumeMs: 0, apiMs: 0 };

export interface CloudContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly latencies: Latencies;
  readonly zones: readonly string[];
  /** Whether the cloud accepts images that are not registered. */
  readonly imagePolicy: 'any' | 'registered';
  readonly host: InstanceHost;
}

/** The time for which listings contain a terminated instance. In EC2, this time is about an hour. */
export const TERMINATED_RETENTION_MS = 10 * 60_000;

const HEX = '0123456789abcdef';

/** Returns an ID with a prefix and 17 hexadecimal digits, as in EC2. */
export function makeId(prefix: string, random: Random): string {
  let id = `${prefix}-`;
  for (let n = 0; n < 17; n++) id += HEX[Math.floor(random.next() * 16)];
  return id;
}
