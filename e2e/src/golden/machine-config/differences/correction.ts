import type { RecordedCase } from '../calls/recording.ts';

/** A result of the original and ours, made comparable for intended differences. */
export interface Compared {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * A rule for an intended difference. The reasons are in docs/compatibility/machine-config.md. A rule uses the input and the results, never the name of
 * a case.
 */
export type Correction = (recorded: RecordedCase, compared: Compared) => Compared;
