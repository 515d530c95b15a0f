import type { Clock, Random, Transport } from '@mcm/kube';

/**
 * The clock, random numbers and network of a driver. Drivers use only these sources, so tests can control all three.
 */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns a transport to an origin such as `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
}
