/** A problem of an Ignition config. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** The error for an invalid config, with the texts of the original. */
export class IgnitionError extends Error {
  override readonly name = 'IgnitionError';
  readonly issues: readonly Issue[];
  constructor(message: string, issues: readonly Issue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** Formats problems as lines such as `error at $.storage.files.0.path: path not absolute`. */
export const printIssues = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `error at ${path}: ${message}\n`).join('');
