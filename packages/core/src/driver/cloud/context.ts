import type { Clock, Random, Transport } from '@mcm/kube';
import type { AccountRates } from './account-rates.ts';

/**
 * The clock, random numbers and network of a driver. A driver uses only this clock, random source and network, so that
 * tests can control them.
 */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns a transport to an origin such as `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
  /**
   * The rate limits that the drivers of all clusters in this process share. Without `rates`, each driver learns its own
   * rate limits.
   */
  readonly rates?: AccountRates | undefined;
}
