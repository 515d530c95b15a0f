import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readKnownFailures, surprises } from './known-failures.ts';
import { missingPrograms, runSuite } from './run-suite.ts';
import { SUITES } from './suites.ts';

/**
 * `pnpm clients [SUITE...]` runs test suites of other projects. The folder `MCM_CLIENTS` contains the programs of these
 * projects. If a result differs from `e2e/clients/known-failures.yaml`, the exit status is 1.
 */
const KNOWN = join(import.meta.dirname, '../../clients/known-failures.yaml');

function fail(message: string): never {
  process.stderr.write(`clients: ${message}\n`);
  process.exit(2);
}

const dir = process.env.MCM_CLIENTS;
if (dir === undefined || dir === '')
  fail('set MCM_CLIENTS to the folder with the programs; e2e/clients/README.md has its layout');
const asked = process.argv.slice(2).filter((argument) => argument !== '--');
const unknown = asked.filter((name) => SUITES.every((suite) => suite.name !== name));
if (unknown.length > 0)
  fail(`unknown suites: ${unknown.join(', ')}; known suites: ${SUITES.map(({ name }) => name).join(', ')}`);

const known = readKnownFailures(readFileSync(KNOWN, 'utf8'));
let isRed = false;
for (const suite of SUITES.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const missing = missingPrograms(suite, dir);
  if (missing.length > 0) {
    process.stdout.write(`${suite.name}: not run, missing ${missing.join(', ')}\n`);
    // If the user has named a suite, the suite must run.
    isRed ||= asked.includes(suite.name);
    continue;
  }
  const outcomes = 'run' in suite ? await suite.run(dir) : await runSuite(suite, dir);
  const failed = outcomes.filter(({ passed }) => !passed);
  for (const { name } of failed) process.stdout.write(`${suite.name}: ${name}\n`);
  const found = surprises(outcomes, known[suite.name] ?? {});
  for (const each of found) process.stdout.write(`${suite.name}: unexpected: ${each}\n`);
  process.stdout.write(`${suite.name}: ${outcomes.length - failed.length} passed, ${failed.length} failed\n`);
  isRed ||= found.length > 0;
}
process.exit(isRed ? 1 : 0);
