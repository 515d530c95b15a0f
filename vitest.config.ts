import { defineConfig } from 'vitest/config';

const report = process.env.MCM_TEST_REPORT;

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    setupFiles: ['./vitest.setup.ts'],
    include: ['{packages,providers,apps}/*/src/**/*.test.ts', '{e2e,tools}/src/**/*.test.ts'],
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // One for each core: left to itself, vitest keeps one core free, which is half of a small machine.
    maxWorkers: '100%',
    // Not a measure of speed, only the end of a test that hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
