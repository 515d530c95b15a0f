// Prints the closing line from the JSON report of vitest. A run in which no test passes is a failure.
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2], 'utf8');
if (text === '') {
  process.stdout.write('0 passed, 1 failed\n');
  process.exit(1);
}
const report = JSON.parse(text);
// Prints the failures again at the end, because a reader of a long log starts there.
for (const file of report.testResults) {
  if (file.status === 'failed' && file.assertionResults.length === 0)
    process.stdout.write(`failed: ${file.name}\n${(file.message ?? '').slice(0, 2_000)}\n`);
  for (const { fullName, status, failureMessages } of file.assertionResults)
    if (status === 'failed')
      process.stdout.write(
        `failed: ${file.name}: ${fullName}\n${(failureMessages?.join('\n') ?? '').slice(0, 4_000)}\n`,
      );
}
const passed = report.numPassedTests;
// A test file that cannot be loaded counts as one failure.
const failed =
  report.numFailedTests +
  report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
const skipped = report.numPendingTests + (report.numTodoTests ?? 0);
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exit(passed > 0 && failed === 0 ? 0 : 1);
