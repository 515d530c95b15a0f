import type { Random } from '@mcm/kube';

/** What commands need of their process. */
export interface CommandSurroundings {
  readonly say: (line: string) => void;
  readonly random: Random;
  /** A signal that aborts when the user wants the command to end. */
  readonly signal: () => AbortSignal;
  /** Writes a line next to what is printed, which a program may read. */
  readonly warn: (line: string) => void;
  /** What the terminal is shown of a text that is drawn with signs. */
  readonly draw: (text: string) => string;
}

/** Where an instance is unless a flag says otherwise. */
export const DEFAULT_DATA_DIR = '.mcm';
