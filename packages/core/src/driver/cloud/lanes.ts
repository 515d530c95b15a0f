import { AsyncLocalStorage } from 'node:async_hooks';

/** The priorities of cloud calls that wait for a rate limit, highest first. */
export const LANES = ['delete', 'health', 'create', 'audit'] as const;
export type Lane = (typeof LANES)[number];

/** Receives the time in milliseconds that each call waited for the rate limit. */
export interface LaneOfCalls {
  readonly lane: Lane;
  readonly onWaited?: ((ms: number) => void) | undefined;
  /** The cluster of the operation, in a process with several clusters. Each cluster waits in its own queue. */
  readonly cluster?: object | undefined;
}

const current = new AsyncLocalStorage<LaneOfCalls>();

/**
 * Runs an operation and puts all its cloud calls into one lane. An `AsyncLocalStorage` contains the lane, so a driver
 * needs no code for lanes.
 */
export const inLane = <T>(lane: LaneOfCalls, operation: () => Promise<T>): Promise<T> => current.run(lane, operation);

/** Calls outside of an operation, for example logins, are in the lane `health`. */
export const laneOfCalls = (): LaneOfCalls => current.getStore() ?? { lane: 'health' };
