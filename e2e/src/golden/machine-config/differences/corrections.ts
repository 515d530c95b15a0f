import type { RecordedCase } from '../recording.ts';
import { kubeletCorrections } from './kubelet-corrections.ts';
import { nodeCorrections } from './node-corrections.ts';
import { renderCorrections } from './render-corrections.ts';

/** An answer of the original and ours, made comparable where we differ on purpose. */
export interface Compared {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * A rule by which answers differ on purpose; the reasons are in docs/compatibility/machine-config.md. It looks at what is
 * recorded and answered, never at which case it is.
 */
export type Correction = (recorded: RecordedCase, compared: Compared) => Compared;

const CORRECTIONS: readonly Correction[] = [...renderCorrections, ...nodeCorrections, ...kubeletCorrections];

/** Applies every deliberate difference to a recorded answer and ours. */
export const corrected = (recorded: RecordedCase, actual: unknown): Compared =>
  CORRECTIONS.reduce<Compared>((compared, correction) => correction(recorded, compared), {
    expected: recorded.output,
    actual,
  });
