export const REPORTS = 'node_modules/.cache/tests';

/** Returns the path of the report of a task, relative to the folder of its package. */
export const reportOf = (task: string): string => `${REPORTS}/${task.replaceAll(':', '-')}.json`;

export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly object[];
}

/** Returns the report of a task that ended without a report. */
export const missingReport = (name: string): Report => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ name, status: 'failed', message: 'The tests ended without a report.', assertionResults: [] }],
});

export function merged(reports: readonly Report[]): Report {
  const sum = (of: (report: Report) => number): number => reports.reduce((total, report) => total + of(report), 0);
  return {
    numPassedTests: sum((report) => report.numPassedTests),
    numFailedTests: sum((report) => report.numFailedTests),
    numPendingTests: sum((report) => report.numPendingTests),
    numTodoTests: sum((report) => report.numTodoTests),
    testResults: reports.flatMap((report) => report.testResults),
  };
}
