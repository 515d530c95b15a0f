import { AsyncLocalStorage } from 'node:async_hooks';

/** The priorities of calls to a cloud that limits their rate, the highest one first. */
export const LANES = ['delete', 'health', 'create', 'audit'] as const;
export type Lane = (typeof LANES)[number];

/** The lane of the calls that an operation sends, and the time that these calls waited for the rate. */
export interface LaneOfCalls {
  readonly lane: Lane;
  readonly onWaited?: ((ms: number) => void) | undefined;
}

const current = new AsyncLocalStorage<LaneOfCalls>();

/**
 * Runs an operation whose calls all wait in one lane. All calls of the operation wait in its lane. A driver needs no
 * code for lanes.
 */
export const inLane = <T>(lane: LaneOfCalls, operation: () => Promise<T>): Promise<T> => current.run(lane, operation);

/** Calls outside of an operation, for example logins, have the same priority as checks of machines. */
export const laneOfCalls = (): LaneOfCalls => current.getStore() ?? { lane: 'health' };
