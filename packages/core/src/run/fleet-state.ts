import type { Clock } from '@mcm/kube';
import { AccountRates } from '../driver/cloud/account-rates.ts';
import { OfferingBook } from '../machine/calls/offering-book.ts';
import type { MachineControllerOptions } from './options.ts';

/** The state of cloud accounts. Outside of a fleet, each controller has its own state. */
export type FleetState = Pick<MachineControllerOptions<unknown, unknown>, 'rates' | 'offerings'>;

/** In fleet mode, clusters with the same credentials share the state of their account, but no credentials. */
export function fleetState(): (context: { readonly cluster?: unknown; readonly clock: Clock }) => FleetState {
  let shared: FleetState | undefined;
  return ({ cluster, clock }) => {
    if (cluster === undefined) return {};
    shared ??= { rates: new AccountRates(clock), offerings: new OfferingBook(clock) };
    return shared;
  };
}
