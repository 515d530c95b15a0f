import type { RecordedCase } from '../calls/recording.ts';
import type { Compared, Correction } from './correction.ts';
import { kubeletCorrections } from './kubelet-corrections.ts';
import { nodeCorrections } from './node-corrections.ts';
import { renderCorrections } from './render-corrections.ts';

const CORRECTIONS: readonly Correction[] = [...renderCorrections, ...nodeCorrections, ...kubeletCorrections];

/** Applies all corrections to the recorded result and the result of mcm. */
export const corrected = (recorded: RecordedCase, actual: unknown): Compared =>
  CORRECTIONS.reduce<Compared>((compared, correction) => correction(recorded, compared), {
    expected: recorded.output,
    actual,
  });
