/** The result of one check of a recording. */
export interface Outcome {
  /** The checked file, state and use. */
  readonly name: string;
  /** Why it failed, in one line enough to act on; absent: it passed. */
  readonly failure?: string | undefined;
  /** Which of several uses of the recordings it belongs to; each is counted by itself too. */
  readonly use?: string;
}

/** A set of recordings and the way to run them through our code. */
export interface GoldenSet {
  /** Its name on the command line, and its folder below the recordings' folder unless `folder` says otherwise. */
  readonly name: string;
  /** Runs every recording of `dir` (laid out as the recordings are: `takeover/`, `golden/…`), one outcome a check. */
  run(dir: string): AsyncIterable<Outcome>;
}
