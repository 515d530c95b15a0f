import type { Journal } from '@mcm/core';
import type { ProfileName } from '../network/profiles.ts';
import type { Plan } from '../script/script.ts';

/** The options of a history. Equal options always produce the same history. */
export interface HistoryOptions {
  readonly seed: number;
  /** Latencies and faults of requests, responses and events. By default, `profile` is `none`. */
  readonly profile?: ProfileName | undefined;
  /** `plan` contains actions that replace the random actions. */
  readonly plan?: Plan | undefined;
  /** Whether the history ends at its first violation, which saves most of its time. */
  readonly endsAtViolation?: boolean | undefined;
  /** Receives the decisions of all processes. */
  readonly journal?: Journal | undefined;
}

export interface Outcome {
  /** The violations of rules. `violations` is empty after a success. */
  readonly violations: readonly string[];
  /** A readable text of the history. */
  readonly story: string;
  /** All requests and changes. */
  readonly history: string;
  /** The actions, for a replay of the history. */
  readonly plan: Plan;
}
