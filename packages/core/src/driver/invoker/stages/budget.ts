import { USER_DATA_KEY } from '@mcm/api';
import type { Clock } from '@mcm/kube';
import { AccountRates } from '../../cloud/account-rates.ts';
import { inLane, type Lane } from '../../cloud/lanes.ts';
import { MachineError } from '../../contract/errors.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { ObserveWait } from '../api/invoker-api.ts';
import type { Call, DecodedCall, Stage } from './call.ts';

/**
 * Contains the learned rate limit for each set of credentials. The time that a call waits for the rate limit counts
 * toward the deadline of the call.
 */
export class CallBudgets {
  readonly #rates: AccountRates;

  constructor(clock: Clock, rates: AccountRates = new AccountRates(clock)) {
    this.#rates = rates;
  }

  /**
   * @throws the error of the call, or the reason of the signal
   */
  async spend<T>(secrets: Readonly<Record<string, string>>, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const rate = this.#rates.of(accountOf(secrets)).of('');
    await rate.take(signal);
    try {
      const result = await call();
      rate.succeeded();
      return result;
    } catch (thrown) {
      const error = MachineError.from(thrown);
      if (error.throttled) rate.throttled(error.retryAfterMs);
      else rate.succeeded();
      throw error;
    }
  }
}

/**
 * Returns the credentials that identify an account. Classes of one account have different user data, so the result does
 * not contain the user data.
 */
const accountOf = (secrets: Readonly<Record<string, string>>): unknown =>
  Object.entries(secrets)
    .filter(([key]) => key !== USER_DATA_KEY)
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** The lane of each driver call for a machine that is not being deleted. */
const LANE_OF: Readonly<Record<DriverCall, Lane>> = {
  create: 'create',
  initialize: 'create',
  start: 'create',
  status: 'health',
  evidence: 'health',
  watchInterruptions: 'health',
  stop: 'delete',
  delete: 'delete',
  list: 'audit',
  tag: 'audit',
};

/** All calls for a machine that is being deleted are in the lane `delete`. */
const laneOfCall = ({ name, machine }: Pick<Call, 'name' | 'machine'>): Lane =>
  machine?.metadata.deletionTimestamp === undefined ? LANE_OF[name] : 'delete';

/**
 * Delays driver calls according to the learned rate limit. A driver that limits the rate of its requests itself gets no
 * additional delay.
 */
export const budgetStage = <Spec, Credentials>(
  budgets: CallBudgets,
  spacesRequests: boolean | undefined,
  observeWait: ObserveWait | undefined,
): Stage<DecodedCall<Spec, Credentials>> => {
  // Each cluster of a fleet has its own invoker, so this object identifies the cluster.
  const cluster = {};
  const laneOf = (call: DecodedCall<Spec, Credentials>) => {
    const lane = laneOfCall(call);
    return { lane, cluster, onWaited: (ms: number) => observeWait?.(lane, ms) };
  };
  return spacesRequests
    ? (call, next) => inLane(laneOf(call), () => next(call))
    : (call, next) => inLane(laneOf(call), () => budgets.spend(call.secrets.data, call.signal, () => next(call)));
};
