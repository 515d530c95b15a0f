import type { Case } from './suites.ts';

/**
 * `MCM_SEEDS=1000` runs this number of histories of each suite. `MCM_THOROUGH=1` runs twice as many histories as a plain test run, as `.ci/run`
 * does. `pnpm simulate` runs any seed.
 */
const { MCM_SEEDS, MCM_THOROUGH } = process.env;

/** Whether the tests may take longer. */
export const isThorough = MCM_THOROUGH === '1';
const THOROUGH_FACTOR = 2;

/** The cases of a suite in tests: the first seeds, and selected ones. */
export function seedsOf(suite: string, count: number, more: readonly number[] = []): readonly Case[] {
  const first = Array.from(
    { length: Number(MCM_SEEDS ?? count * (isThorough ? THOROUGH_FACTOR : 1)) },
    (_, index) => index + 1,
  );
  return [...new Set([...first, ...more])].map((seed) => ({ suite, seed }));
}

/** The command that repeats a case. */
export const again = ({ suite, seed }: Case): string => `pnpm simulate --suite ${suite} --seeds ${seed} repeats this`;
