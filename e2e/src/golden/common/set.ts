/** The result of a check in a recording. */
export interface Outcome {
  /** The name of the check: the file, the state in the recording, and what is checked. */
  readonly name: string;
  /** The reason why the check failed, in one line. If the check passed, `failure` is undefined. */
  readonly failure?: string | undefined;
  /** The way in which the check uses the recordings. The summary counts the checks of each use separately. */
  readonly use?: string;
}

/** A set of recordings, and a function that checks mcm with them. */
export interface GoldenSet {
  /** The name of the set on the command line. By default, this is the name of the folder with the recordings too. */
  readonly name: string;
  /** Checks all recordings in `dir`, which contains `takeover/`, `golden/…`. Yields one result for each check. */
  run(dir: string): AsyncIterable<Outcome>;
}
