import type { RecordedCase } from '../recording.ts';
import { kubeletMendings } from './kubelet-mendings.ts';
import { nodeMendings } from './node-mendings.ts';
import { renderMendings } from './render-mendings.ts';

/** An answer of the original and ours, made comparable where we differ on purpose. */
export interface Compared {
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * A rule by which answers differ on purpose; the reasons are in docs/compatibility/machine-config.md. It looks at what is
 * recorded and answered, never at which case it is.
 */
export type Mending = (recorded: RecordedCase, compared: Compared) => Compared;

const MENDINGS: readonly Mending[] = [...renderMendings, ...nodeMendings, ...kubeletMendings];

/** Applies every deliberate difference to a recorded answer and ours. */
export const mended = (recorded: RecordedCase, actual: unknown): Compared =>
  MENDINGS.reduce<Compared>((compared, mending) => mending(recorded, compared), { expected: recorded.output, actual });
