import type { Clock, Random, Transport } from '@mcm/kube';
import type { AccountRates } from './account-rates.ts';

/**
 * The clock, random numbers and network of a driver. A driver must use only these three objects, so that tests can
 * control time, random numbers and network.
 */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns an HTTP transport to a server, such as `https://api.example.com`. */
  readonly connect: (origin: string) => Transport;
  /**
   * The rate limits that the drivers of all clusters in this process share. Without `rates`, each driver learns its own
   * rate limits.
   */
  readonly rates?: AccountRates | undefined;
}
