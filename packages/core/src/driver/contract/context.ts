import type { Clock, Random, Transport } from '@mcm/kube';

/** A driver gets its time, its randomness and its network only from here, so that tests can control all three. */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** A way to an origin, `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
}
