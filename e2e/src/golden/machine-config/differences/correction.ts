import type { RecordedCase } from '../calls/recording.ts';

export interface Compared {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * A correction for an intended difference. docs/compatibility/machine-config.md contains the reasons. A correction must
 * not use the name of a case, only its input and results.
 */
export type Correction = (recorded: RecordedCase, compared: Compared) => Compared;
