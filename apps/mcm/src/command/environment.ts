import type { Random } from '@mcm/kube';

/** The inputs and outputs of the process that commands use. */
export interface CommandEnvironment {
  readonly say: (line: string) => void;
  readonly random: Random;
  /** A signal that aborts when the user wants the command to end. */
  readonly signal: () => AbortSignal;
  /** Writes a line to standard error, so that it is not part of the output that a program reads. */
  readonly warn: (line: string) => void;
  /** Adapts a text with Unicode symbols and colors to the terminal. */
  readonly draw: (text: string) => string;
}

/** The default of `--data-dir`. */
export const DEFAULT_DATA_DIR = '.mcm';
