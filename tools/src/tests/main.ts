import { spawn } from 'node:child_process';
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

/** Runs a program of `node_modules` with the Node.js of this process. */
const run = (script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    spawn(process.execPath, [join(ROOT, 'node_modules', script), ...args], {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, ...env },
    })
      .once('error', reject)
      .once('exit', (status) => resolve(status ?? 1));
  });

interface Lane {
  readonly contains: (script: string) => boolean;
  readonly tasks: number;
  readonly workers: number;
}

const CORES = availableParallelism();
/**
 * The lane with programs and the lane without programs run in parallel. Tests that start programs mostly wait, and
 * meanwhile the other tests use the cores. With one lane, turbo could start the tests with programs last, so that the
 * cores would be idle at the end.
 */
const LANES: readonly Lane[] = [
  // Two parallel tasks use all cores. A worker needs seconds to load the modules and to compile them, so fewer workers
  // need less CPU time.
  { contains: (script) => script === 'test', tasks: 2, workers: Math.ceil(CORES / 2) },
  // The tests of the documentation mostly wait, and use one worker. Meanwhile, the second task uses the cores.
  { contains: (script) => script !== 'test', tasks: 2, workers: CORES },
];

interface Task {
  readonly script: string;
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
      .map((script) => ({ script, task: `${name}#${script}`, report: join(ROOT, dirname(path), reportOf(script)) }));
  });

const runLane = ({ contains, tasks: parallel, workers }: Lane): Promise<number> =>
  run(
    'turbo/bin/turbo',
    [
      'run',
      ...tasks()
        .filter(({ script }) => contains(script))
        .map(({ task }) => task),
      ...['--continue', `--concurrency=${parallel}`, '--output-logs=new-only', '--log-order=stream'],
    ],
    {
      TURBO_TELEMETRY_DISABLED: '1',
      VITEST_MAX_WORKERS: `${workers}`,
      // turbo.json makes this variable part of the cache key of each task.
      MCM_TEST_PROGRAMS: programsKey(process.env),
    },
  );

const args = process.argv.slice(2);
if (args.length > 0) process.exitCode = await run('vitest/vitest.mjs', ['run', ...args]);
else {
  // Deletes earlier reports, because an earlier report would count for a task that ends without a report.
  for (const { report } of tasks()) rmSync(report, { force: true });
  process.exitCode = Math.max(...(await Promise.all(LANES.map(runLane))));
  const into = process.env.MCM_TEST_REPORT;
  if (into !== undefined) {
    const reports = tasks().map(({ task, report }) =>
      existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : missingReport(task),
    );
    writeFileSync(into, JSON.stringify(merged(reports)));
  }
}
