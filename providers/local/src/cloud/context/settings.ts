import type { Clock, Logger, Random } from '@mcm/kube';
import type { InstanceHost } from '../../machine/model.ts';

/** Latencies in milliseconds, all zero by default. */
export interface Latencies {
  /** The duration from `pending` to `running`. */
  readonly bootMs: number;
  /** The duration from `shutting-down` to `terminated`. */
  readonly shutdownMs: number;
  /** The duration of attaching or detaching a volume. */
  readonly volumeMs: number;
  /** The delay before each response of the API. */
  readonly apiMs: number;
}

export const NO_LATENCY: Latencies = { bootMs: 0, shutdownMs: 0, volumeMs: 0, apiMs: 0 };

export interface CloudContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly latencies: Latencies;
  readonly zones: readonly string[];
  /** With `any`, the cloud accepts images that are not registered. */
  readonly imagePolicy: 'any' | 'registered';
  readonly host: InstanceHost;
}

/** The time in milliseconds for which terminated instances stay visible. In EC2, the time is about an hour. */
export const TERMINATED_RETENTION_MS = 10 * 60_000;

const HEX = '0123456789abcdef';

/** Returns an ID: a prefix and 17 hexadecimal digits, as in clouds. */
export function makeId(prefix: string, random: Random): string {
  let id = `${prefix}-`;
  for (let n = 0; n < 17; n++) id += HEX[Math.floor(random.next() * 16)];
  return id;
}
