import { join } from 'node:path';
import type { Outcome } from './outcomes.ts';
import { runTests } from './run-tests.ts';

export const HELM = join('helm', 'helm');

/**
 * Runs the tests that install, upgrade, roll back and uninstall the Helm chart. @param dir The folder that contains the
 * programs.
 */
export const runHelm = (dir: string): Promise<Outcome[]> =>
  runTests(join(dir, 'helm'), ['e2e/src/deploy/chart.test.ts', 'e2e/src/deploy/api-server.test.ts']);
