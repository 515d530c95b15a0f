/** A problem of a config. */
export interface Issue {
  /** Path of the field, such as `$.storage.files.0.path`. */
  readonly path: string;
  readonly message: string;
}

/** An invalid config, in the original's words. */
export class IgnitionError extends Error {
  override readonly name = 'IgnitionError';
  /** The problems with their paths; empty if the config as a whole is invalid. */
  readonly issues: readonly Issue[];
  constructor(message: string, issues: readonly Issue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** Issues as lines: `error at $.storage.files.0.path: path not absolute`. */
export const printIssues = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `error at ${path}: ${message}\n`).join('');
