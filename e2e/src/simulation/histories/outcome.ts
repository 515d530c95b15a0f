import type { Journal } from '@mcm/core';
import type { ProfileName } from '../network/profiles.ts';
import type { Plan } from '../script/script.ts';

export interface HistoryOptions {
  readonly seed: number;
  /** Delays and faults of requests, responses and events. */
  readonly profile?: ProfileName | undefined;
  readonly plan?: Plan | undefined;
  /** Whether the history ends at its first violation, which saves much time. */
  readonly endsAtViolation?: boolean | undefined;
  readonly journal?: Journal | undefined;
}

export interface Outcome {
  readonly violations: readonly string[];
  readonly story: string;
  readonly history: string;
  readonly plan: Plan;
}
