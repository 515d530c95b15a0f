import type { ProfileName } from '../network/weather.ts';
import type { Plan } from '../script/script.ts';

/** Options of a history. The same options always give the same history. */
export interface HistoryOptions {
  readonly seed: number;
  /** Latencies and faults of requests, answers and events. Default `none`. */
  readonly profile?: ProfileName | undefined;
  /** Runs these acts instead of random ones. */
  readonly plan?: Plan | undefined;
}

/** The result of a history. */
export interface Outcome {
  /** Empty after a success. */
  readonly violations: readonly string[];
  /** The history in a form for users. */
  readonly story: string;
  /** All requests and changes. */
  readonly history: string;
  /** The acts, for a replay. */
  readonly plan: Plan;
}
