import type { Clock } from '@mcm/kube';
import { AccountRates } from '../driver/cloud/account-rates.ts';
import { OfferingBook } from '../machine/calls/offering-book.ts';
import type { MachineControllerOptions } from './options.ts';

/**
 * Rate limits and shortages of cloud accounts. In a fleet, the controllers of all clusters share rate limits and
 * shortages.
 */
export type FleetState = Pick<MachineControllerOptions<unknown, unknown>, 'rates' | 'offerings'>;

/** Clusters with equal credentials share the rate limits and shortages of their account, but no credentials. */
export function fleetState(): (context: { readonly cluster?: unknown; readonly clock: Clock }) => FleetState {
  let shared: FleetState | undefined;
  return ({ cluster, clock }) => {
    if (cluster === undefined) return {};
    shared ??= { rates: new AccountRates(clock), offerings: new OfferingBook(clock) };
    return shared;
  };
}
