import type { Journal } from '@mcm/core';
import type { ProfileName } from '../network/profiles.ts';
import type { Plan } from '../script/script.ts';

/** The options of a history. With equal options, a history is always the same. */
export interface HistoryOptions {
  readonly seed: number;
  /** Delays and faults of requests, responses and events. By default, there are none (`none`). */
  readonly profile?: ProfileName | undefined;
  /** The actions of the history. Without a plan, the actions are random. */
  readonly plan?: Plan | undefined;
  /** Whether the history ends at its first violation, which saves much time. */
  readonly endsAtViolation?: boolean | undefined;
  /** The journal in which all processes record their decisions. */
  readonly journal?: Journal | undefined;
}

export interface Outcome {
  /** The violations of rules that the verifiers found. If the history has succeeded, `violations` is empty. */
  readonly violations: readonly string[];
  /** A text about the history for humans. */
  readonly story: string;
  /** All requests and changes. */
  readonly history: string;
  /** The actions of the history, with which it can be repeated. */
  readonly plan: Plan;
}
