import { AsyncLocalStorage } from 'node:async_hooks';

/** The priorities of cloud calls that wait for a rate limit, highest first. */
export const LANES = ['delete', 'health', 'create', 'audit'] as const;
/** The priority of a cloud call that waits for a rate limit. */
export type Lane = (typeof LANES)[number];

/** The lane and the cluster of an operation. */
export interface LaneOfCalls {
  readonly lane: Lane;
  readonly onWaited?: ((ms: number) => void) | undefined;
  /**
   * The cluster of the operation, for a process that handles several clusters. Each cluster of a process waits in its
   * own queue.
   */
  readonly cluster?: object | undefined;
}

const current = new AsyncLocalStorage<LaneOfCalls>();

/**
 * Runs an operation, and assigns all its cloud calls to one priority lane. An `AsyncLocalStorage` contains the lane, so
 * a driver needs no code for lanes.
 */
export const inLane = <T>(lane: LaneOfCalls, operation: () => Promise<T>): Promise<T> => current.run(lane, operation);

/** Returns the lane of the current cloud call. */
export const laneOfCalls = (): LaneOfCalls => current.getStore() ?? { lane: 'health' };
