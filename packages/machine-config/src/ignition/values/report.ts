/** Something wrong with a config. */
export interface Issue {
  /** `$.storage.files.0.path`. */
  readonly path: string;
  readonly message: string;
}

/** A config that cannot be used, in the original's words. */
export class IgnitionError extends Error {
  override readonly name = 'IgnitionError';
  /** What is wrong where; empty when it is the config as a whole. */
  readonly issues: readonly Issue[];
  constructor(message: string, issues: readonly Issue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** Issues as lines: `error at $.storage.files.0.path: path not absolute`. */
export const printIssues = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `error at ${path}: ${message}\n`).join('');
