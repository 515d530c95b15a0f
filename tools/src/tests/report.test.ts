import { expect, test } from 'vitest';
import { merged, missingReport, reportOf } from './report.ts';

const report = (passed: number, failed: number) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: [{ name: `${passed}` }],
});

test('the reports of all tasks become one', () => {
  expect(merged([report(2, 0), report(3, 1)])).toEqual({
    numPassedTests: 5,
    numFailedTests: 1,
    numPendingTests: 2,
    numTodoTests: 0,
    testResults: [{ name: '2' }, { name: '3' }],
  });
});

test('a task without a report is a failed file', () => {
  const { testResults, numPassedTests } = merged([report(2, 0), missingReport('@mcm/core#test')]);
  expect(numPassedTests).toBe(2);
  expect(testResults[1]).toMatchObject({ name: '@mcm/core#test', status: 'failed', assertionResults: [] });
});

test('each task of a package has a report of its own', () => {
  expect(reportOf('test')).toBe('node_modules/.cache/tests/test.json');
  expect(reportOf('test:programs')).toBe('node_modules/.cache/tests/test-programs.json');
});
