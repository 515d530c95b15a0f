import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const report = process.env.MCM_TEST_REPORT;

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./vitest.setup.ts'],
    include: ['{packages,providers,apps}/*/src/**/*.test.ts', '{e2e,tools}/src/**/*.test.ts'],
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // Half as many again as there are cores: files that start real programs wait for these most of their time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // Not a measure of speed, only the end of a test that hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
