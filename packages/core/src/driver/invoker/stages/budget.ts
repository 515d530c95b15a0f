import { createHash } from 'node:crypto';
import { USER_DATA_KEY } from '@mcm/api';
import type { Clock } from '@mcm/kube';
import { inLane, type Lane } from '../../cloud/lanes.ts';
import { LearnedRates } from '../../cloud/learned-rate.ts';
import { MachineError } from '../../contract/errors.ts';
import type { DriverCall } from '../../schemas/define-driver.ts';
import type { ObserveWait } from '../api/invoker-api.ts';
import type { Call, DecodedCall, Stage } from './call.ts';

/** Maximum number of accounts with a learned rate limit. Replaced credentials count as another account. */
const MOST = 200;

/**
 * The learned rate limits of clouds, one for each set of credentials. The deadline of a call includes the time that the
 * call waits for the rate limit.
 */
export class CallBudgets {
  readonly #rates: LearnedRates;

  constructor(clock: Clock) {
    this.#rates = new LearnedRates(clock, MOST);
  }

  /** @throws the error of the call, or the signal's reason */
  async spend<T>(secrets: Readonly<Record<string, string>>, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const rate = this.#rates.of(accountOf(secrets));
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

/** User data is excluded from the key, because it differs between pools with the same credentials. */
function accountOf(secrets: Readonly<Record<string, string>>): string {
  const entries = Object.entries(secrets).filter(([key]) => key !== USER_DATA_KEY);
  return createHash('sha256')
    .update(JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('base64url');
}

/** The lanes of operations for machines that are not being deleted. */
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
};

/** All calls for a machine that is being deleted have the lane of deletions, because its deletion waits for them. */
const laneOfCall = ({ name, machine }: Pick<Call, 'name' | 'machine'>): Lane =>
  machine?.metadata.deletionTimestamp === undefined ? LANE_OF[name] : 'delete';

/**
 * If a driver limits its own requests, `budgetStage` adds no second delay.
 * @param spacesRequests True if the driver limits its own requests
 */
export const budgetStage = <Spec, Credentials>(
  budgets: CallBudgets,
  spacesRequests: boolean | undefined,
  observeWait: ObserveWait | undefined,
): Stage<DecodedCall<Spec, Credentials>> => {
  const laneOf = (call: DecodedCall<Spec, Credentials>) => {
    const lane = laneOfCall(call);
    return { lane, onWaited: (ms: number) => observeWait?.(lane, ms) };
  };
  return spacesRequests
    ? (call, next) => inLane(laneOf(call), () => next(call))
    : (call, next) => inLane(laneOf(call), () => budgets.spend(call.secrets.data, call.signal, () => next(call)));
};
