import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const report = process.env.MCM_TEST_REPORT;

const UNITS = '{packages,providers,apps}/*/src/**/*.test.ts';
const END_TO_END = '{e2e,tools}/src/**/*.test.ts';
/** Tests that mock a module: another file that has it already would not see the mock. */
const MOCKING = [
  'packages/control-plane/src/registry/work-of-access.test.ts',
  'packages/control-plane/src/server/api-documents.test.ts',
  'packages/control-plane/src/server/in-process.test.ts',
];

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./vitest.setup.ts'],
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // Half as many again as there are cores: files that start real programs wait for these most of their time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // Not a measure of speed, only the end of a test that hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    projects: [
      // Most files are small: loading the modules anew for each would take longer than the tests do.
      { extends: true, test: { name: 'units', include: [UNITS], exclude: MOCKING, isolate: false } },
      { extends: true, test: { name: 'alone', include: [END_TO_END, ...MOCKING] } },
    ],
  },
});
