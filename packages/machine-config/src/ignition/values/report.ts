/** A problem of an Ignition config. */
export interface Issue {
  /** The path of the value, such as `$.storage.files.0.path`. */
  readonly path: string;
  readonly message: string;
}

/** The error for an invalid config, with the texts of the original. */
export class IgnitionError extends Error {
  override readonly name = 'IgnitionError';
  /** The problems of single values. If the config as a whole is invalid, the list is empty. */
  readonly issues: readonly Issue[];
  constructor(message: string, issues: readonly Issue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** Formats problems as lines such as `error at $.storage.files.0.path: path not absolute`. */
export const printIssues = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `error at ${path}: ${message}\n`).join('');
