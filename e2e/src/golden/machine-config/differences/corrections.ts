import type { RecordedCase } from '../calls/recording.ts';
import type { Compared, Correction } from './correction.ts';
import { kubeletCorrections } from './kubelet-corrections.ts';
import { nodeCorrections } from './node-corrections.ts';
import { renderCorrections } from './render-corrections.ts';

const CORRECTIONS: Readonly<Record<string, Correction>> = {
  ...renderCorrections,
  ...nodeCorrections,
  ...kubeletCorrections,
};

export const CORRECTION_NAMES: readonly string[] = Object.keys(CORRECTIONS);

/** Applies the corrections with the given names to the recorded result and the result of mcm. */
export const corrected = (
  recorded: RecordedCase,
  actual: unknown,
  names: readonly string[] = CORRECTION_NAMES,
): Compared =>
  Object.entries(CORRECTIONS)
    .filter(([name]) => names.includes(name))
    .reduce<Compared>((compared, [, correction]) => correction(recorded, compared), {
      expected: recorded.output,
      actual,
    });
