import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT } from '../root.ts';
import { REPORTS, reportOf } from './report.ts';

/**
 * Runs the tests of one package, as a task of turbo in the folder of the package: `one.ts <task> [project ...]`.
 * Without projects, vitest runs all projects that have tests in this folder.
 */

const isThorough = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
const [task = 'test', ...projects] = process.argv.slice(2);
const folder = process.cwd();
mkdirSync(join(folder, REPORTS), { recursive: true });
/**
 * The maximum number of test files for one worker. The start of a second worker takes longer than the tests of so few
 * files.
 */
const FEW_FILES = 8;
const isSmall = globSync('src/**/*.test.ts', { cwd: folder }).length <= FEW_FILES;
/**
 * True for the tests of `e2e`. These tests depend on all packages, so turbo starts them last. At that time, the cores
 * of both tasks are free.
 */
const isLast = task === 'test' && relative(ROOT, folder) === 'e2e';
/** True for the tests of the documentation. Most of their time, one file waits for the commands of the pages. */
const isWaiting = task === 'test:docs';
const workers = isLast ? `${availableParallelism()}` : process.env.VITEST_MAX_WORKERS;
const { status } = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    ...projects.flatMap((project) => ['--project', project]),
    '--passWithNoTests',
    `${relative(ROOT, folder).replaceAll('\\', '/')}/src/`,
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      VITEST_MAX_WORKERS: isSmall || isWaiting ? '1' : workers,
      MCM_TEST_REPORT: join(folder, reportOf(task)),
      // If this variable is set, vitest.config.ts omits the test files that thorough-only.ts lists.
      MCM_TESTS_PLAIN: isThorough ? undefined : '1',
    },
  },
);
process.exitCode = status ?? 1;
