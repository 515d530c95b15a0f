import { AsyncLocalStorage } from 'node:async_hooks';

/** The priorities of cloud calls that wait for a rate limit, highest first. */
export const LANES = ['delete', 'health', 'create', 'audit'] as const;
export type Lane = (typeof LANES)[number];

/** The lane of a cloud call, and a callback for the time in milliseconds that a call waited for the rate limit. */
export interface LaneOfCalls {
  readonly lane: Lane;
  readonly onWaited?: ((ms: number) => void) | undefined;
  /** The cluster of the operation, for a process that handles several clusters. Each cluster waits in its own queue. */
  readonly cluster?: object | undefined;
}

const current = new AsyncLocalStorage<LaneOfCalls>();

/**
 * Runs an operation, and assigns all its cloud calls to one priority lane. An `AsyncLocalStorage` contains the lane, so
 * a driver needs no code for lanes.
 */
export const inLane = <T>(lane: LaneOfCalls, operation: () => Promise<T>): Promise<T> => current.run(lane, operation);

/** Returns the lane of the current cloud call. Calls outside of an operation, such as logins, use the lane `health`. */
export const laneOfCalls = (): LaneOfCalls => current.getStore() ?? { lane: 'health' };
