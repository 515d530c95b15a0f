import type { Clock, Random, Transport } from '@mcm/kube';

/**
 * The clock, random numbers and network of a driver. A driver uses only this clock, random source and network, so that
 * tests can control them.
 */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns a transport to an origin such as `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
}
