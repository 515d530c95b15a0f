import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../root.ts';
import { programsKey } from './programs.ts';
import { merged, missingReport, type Report, reportOf } from './report.ts';

/**
 * `pnpm test` runs the tests of every package with turbo, which repeats only the tasks whose inputs changed. With
 * arguments, vitest runs the named files without the cache.
 */

/**
 * Runs a program of `node_modules` with the Node.js of this process. The packages and tests then use the same Node.js.
 */
const run = (script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): number => {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'node_modules', script), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1;
};

/** The number of parallel tasks. If one task waits for its last file, the other task uses the cores. */
const TASKS = 2;
/**
 * The number of workers of a task. In total, there are 1.5 times as many workers as cores, because files that start
 * real programs mostly wait.
 */
const WORKERS = Math.ceil((availableParallelism() * 1.5) / TASKS);

interface Task {
  readonly task: string;
  readonly report: string;
}

const tasks = (): readonly Task[] =>
  globSync(['{packages,providers,apps}/*/package.json', '{e2e,tools}/package.json'], { cwd: ROOT }).flatMap((path) => {
    const { name, scripts = {} } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as {
      readonly name: string;
      readonly scripts?: Readonly<Record<string, string>>;
    };
    return Object.keys(scripts)
      .filter((script) => script === 'test' || script.startsWith('test:'))
      .map((script) => ({ task: `${name}#${script}`, report: join(ROOT, dirname(path), reportOf(script)) }));
  });

const args = process.argv.slice(2);
if (args.length > 0) process.exitCode = run('vitest/vitest.mjs', ['run', ...args]);
else {
  // Earlier reports are deleted. Otherwise, they would count for a task that ends without a report.
  for (const { report } of tasks()) rmSync(report, { force: true });
  process.exitCode = run(
    'turbo/bin/turbo',
    [
      ...['run', ...tasks().map(({ task }) => task), '--continue', `--concurrency=${TASKS}`],
      ...['--output-logs=new-only', '--log-order=stream'],
    ],
    {
      TURBO_TELEMETRY_DISABLED: '1',
      VITEST_MAX_WORKERS: `${WORKERS}`,
      // turbo.json makes this variable part of the cache key of each task.
      MCM_TEST_PROGRAMS: programsKey(process.env),
    },
  );
  const into = process.env.MCM_TEST_REPORT;
  if (into !== undefined) {
    const reports = tasks().map(({ task, report }) =>
      existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : missingReport(task),
    );
    writeFileSync(into, JSON.stringify(merged(reports)));
  }
}
