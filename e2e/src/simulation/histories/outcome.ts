import type { Journal } from '@mcm/core';
import type { ProfileName } from '../network/profiles.ts';
import type { Plan } from '../script/script.ts';

/** Options of a history. The same options always give the same history. */
export interface HistoryOptions {
  readonly seed: number;
  /** Latencies and faults of requests, answers and events. Default `none`. */
  readonly profile?: ProfileName | undefined;
  /** If set, these acts run instead of random ones. */
  readonly plan?: Plan | undefined;
  /** Whether the history ends at its first violation. The rest of such a history takes most of its time. */
  readonly endsAtViolation?: boolean | undefined;
  /** Receives the decisions of all processes. */
  readonly journal?: Journal | undefined;
}

/** The result of a history. */
export interface Outcome {
  /** The violations of rules; empty after a success. */
  readonly violations: readonly string[];
  /** A readable text of the history. */
  readonly story: string;
  /** All requests and changes. */
  readonly history: string;
  /** The acts, so that the history can be replayed. */
  readonly plan: Plan;
}
