import type { Clock, Random, Transport } from '@mcm/kube';

/** What a driver is made with; it reads no other time, draws no other randomness and reaches its cloud in no other way, so that tests can hold all three. */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** A way to an origin, `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
}
