import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { THOROUGH_ONLY } from './tools/src/tests/thorough-only.ts';

const report = process.env.MCM_TEST_REPORT;

const UNITS = '{packages,providers,apps}/*/src/**/*.test.ts';
const END_TO_END = '{e2e,tools}/src/**/*.test.ts';
/** End-to-end tests that start no programs. These tests load nearly the same modules. */
const IN_PROCESS = [
  'e2e/src/{config-server,conformance,drivers,golden,observe,simulation,upgrade}/**/*.test.ts',
  'e2e/src/bad-input/{clouds,manager-malformed,provider-specs}.test.ts',
  'e2e/src/deploy/{config-permissions,machine-permissions,permissions}.test.ts',
];
/** Checks of the documentation. */
const DOCUMENTS = 'e2e/src/docs/**/*.test.ts';
const COMMANDS = 'e2e/src/docs/commands/**/*.test.ts';
/** Tests that mock modules, which is possible only in the module runner of Vite. */
const MOCKING = [
  'packages/control-plane/src/registry/work-of-access.test.ts',
  'packages/control-plane/src/server/api-documents.test.ts',
];
/**
 * This test file temporarily removes the platform's `Request`, which would break other test files in the same process.
 */
const STUBBING = 'packages/control-plane/src/apimachinery/http/in-process.test.ts';

/** Test files that `pnpm test` leaves out. Each project needs the list, because a project ignores `--exclude` of the command line. */
const LEFT_OUT = process.env.MCM_TESTS_PLAIN === undefined ? [] : THOROUGH_ONLY;

/** The longest files, in the order in which they start. */
const LONGEST = [
  'e2e/src/simulation/machines/seeds-1.test.ts',
  'e2e/src/simulation/machines/seeds-2.test.ts',
  'tools/src/packages/packages.test.ts',
  'e2e/src/docs/commands/commands.test.ts',
  'e2e/src/up-clouds.test.ts',
  'packages/core/src/run/crash.test.ts',
  'e2e/src/simulation/crash.test.ts',
  'e2e/src/simulation/random.test.ts',
];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
  return rank < 0 ? LONGEST.length : rank;
};

/** Starts the longest files first, so that no worker waits for one file at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

/**
 * Node.js runs the tests from their sources, as it runs the programs. The longest files take a fifth less time, because
 * Vite does not transform the files and does not look up their imports. Compiled modules are cached for all files and
 * programs.
 */
const native = { experimental: { viteModuleRunner: false, nodeLoader: false } };
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./vitest.setup.ts'],
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // 1.5 workers for each core, because files that start real programs wait most of the time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // With larger semi-spaces, V8 runs fewer garbage collections. Without Maglev, the tests use about 10 % less CPU
    // time, and no process can wait forever in its exit (see start-program.ts).
    execArgv: ['--conditions=source', '--no-maglev', '--max-semi-space-size=64'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 10_000,
    // By default, a poll ends after one second, which is too short on a loaded machine.
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      // For most files, loading the modules again would take longer than the tests.
      {
        extends: true,
        test: {
          name: 'shared',
          ...native,
          include: [UNITS, ...IN_PROCESS],
          exclude: [...MOCKING, STUBBING, ...LEFT_OUT],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'docs', ...native, include: [DOCUMENTS], exclude: [COMMANDS], isolate: false } },
      {
        extends: true,
        test: {
          name: 'commands',
          ...native,
          include: [COMMANDS],
          globalSetup: ['./tools/src/bundle/shared.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          ...native,
          include: [END_TO_END],
          exclude: [...IN_PROCESS, DOCUMENTS, ...LEFT_OUT],
          globalSetup: ['./tools/src/bundle/shared.setup.ts'],
          // No test file changes the state of its process, so several files can share a process. With a process for
          // each file, the tests need 50 % more CPU time.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', ...native, include: [STUBBING] } },
      { extends: true, test: { name: 'mocking', include: MOCKING, exclude: [...LEFT_OUT] } },
    ],
  },
});
