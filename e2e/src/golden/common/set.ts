/** The result of a check in a recording. */
export interface Outcome {
  /** The file and the state of the recording, and the check. */
  readonly name: string;
  /** The reason for the failure, in one line. `failure` is absent if the check passed. */
  readonly failure?: string | undefined;
  /** One of several uses of the recordings. The summary has a separate count for each use. */
  readonly use?: string;
}

/** A set of recordings, and a function that checks our code with the recordings. */
export interface GoldenSet {
  /** The name of the set on the command line. If `folder` is absent, the folder of the recordings has this name. */
  readonly name: string;
  /**
   * Checks all recordings in `dir`, which has the folders of the recordings: `takeover/`, `golden/…`. Yields one result
   * for each check.
   */
  run(dir: string): AsyncIterable<Outcome>;
}
