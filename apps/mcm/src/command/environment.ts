import type { Random } from '@mcm/kube';

export interface CommandEnvironment {
  readonly say: (line: string) => void;
  readonly random: Random;
  /** Returns a signal that is aborted when the user ends the command. */
  readonly signal: () => AbortSignal;
  /** Writes a line to standard error. */
  readonly warn: (line: string) => void;
  /** Replaces Unicode symbols and removes colors that the terminal does not support. */
  readonly draw: (text: string) => string;
}

export const DEFAULT_DATA_DIR = '.mcm';
