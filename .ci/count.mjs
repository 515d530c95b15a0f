// Prints the closing line from vitest's JSON report; a run without a single passed test is a failure.
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2], 'utf8');
if (text === '') {
  process.stdout.write('0 passed, 1 failed\n');
  process.exit(1);
}
const report = JSON.parse(text);
const passed = report.numPassedTests;
// A file that does not even load counts as one failure.
const failed =
  report.numFailedTests +
  report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
const skipped = report.numPendingTests + (report.numTodoTests ?? 0);
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);
