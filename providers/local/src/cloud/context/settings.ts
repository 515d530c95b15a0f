import type { Clock, Logger, Random } from '@mcm/kube';
import type { InstanceHost } from '../../machine/model.ts';

/** How long the cloud takes for its work, in milliseconds. All zero by default. */
export interface Latencies {
  /** `pending` → `running`. */
  readonly bootMs: number;
  /** `shutting-down` → `terminated`. */
  readonly shutdownMs: number;
  /** Attaching and detaching a volume. */
  readonly volumeMs: number;
  /** Before any answer. */
  readonly apiMs: number;
}

export const NO_LATENCY: Latencies = { bootMs: 0, shutdownMs: 0, volumeMs: 0, apiMs: 0 };

/** The common context of the parts of the cloud. */
export interface CloudContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly latencies: Latencies;
  readonly zones: readonly string[];
  /** `any`: an unregistered image is accepted; `registered`: it is refused. */
  readonly imagePolicy: 'any' | 'registered';
  readonly host: InstanceHost;
}

/** Instances that ended are remembered this long, as EC2 does for about an hour. */
export const TERMINATED_RETENTION_MS = 10 * 60_000;

const HEX = '0123456789abcdef';

/** An id as clouds give them: a prefix and 17 hexadecimal digits. */
export function makeId(prefix: string, random: Random): string {
  let id = `${prefix}-`;
  for (let n = 0; n < 17; n++) id += HEX[Math.floor(random.next() * 16)];
  return id;
}
