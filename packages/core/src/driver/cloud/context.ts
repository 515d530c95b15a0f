import type { Clock, Random, Transport } from '@mcm/kube';
import type { AccountRates } from './account-rates.ts';

/**
 * A driver must use only the clock, the random numbers and the network of its context, so that tests can control them.
 */
export interface DriverContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly connect: (origin: string) => Transport;
  /** Without `rates`, each driver learns its own rate limits. */
  readonly rates?: AccountRates | undefined;
}
