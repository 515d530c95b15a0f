import type { RecordedCase } from '../calls/recording.ts';
import type { Compared, Correction } from './correction.ts';
import { kubeletCorrections } from './kubelet-corrections.ts';
import { nodeCorrections } from './node-corrections.ts';
import { renderCorrections } from './render-corrections.ts';

const CORRECTIONS: readonly Correction[] = [...renderCorrections, ...nodeCorrections, ...kubeletCorrections];

/** Applies all intended differences to the recorded result and to our result. */
export const corrected = (recorded: RecordedCase, actual: unknown): Compared =>
  CORRECTIONS.reduce<Compared>((compared, correction) => correction(recorded, compared), {
    expected: recorded.output,
    actual,
  });
