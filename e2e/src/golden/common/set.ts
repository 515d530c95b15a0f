import type { Counts } from './counts.ts';

export interface Outcome {
  /** The name of the check: the file, the state in the recording, and what is checked. */
  readonly name: string;
  readonly failure?: string | undefined;
  readonly use?: string;
  /** The compared values, and the values that a rule excuses. */
  readonly counts?: Counts | undefined;
}

export interface GoldenSet {
  readonly name: string;
  /** Checks all recordings in `dir`, which contains `takeover/`, `golden/…`. */
  run(dir: string): AsyncIterable<Outcome>;
}
