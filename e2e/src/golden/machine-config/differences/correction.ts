import type { RecordedCase } from '../calls/recording.ts';

/** The result of the original and our result, after the corrections. */
export interface Compared {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * A rule for an intended difference. docs/compatibility/machine-config.md contains the reasons. A rule uses the input
 * and the results, but never the name of a case.
 */
export type Correction = (recorded: RecordedCase, compared: Compared) => Compared;
