/**
 * True if tests run all their cases and random histories. `.ci/run` sets `MCM_THOROUGH=1` for this purpose. Without it,
 * tests run a fixed sample, so that a developer waits only minutes.
 */
export const isThorough: boolean = process.env.MCM_THOROUGH === '1';

/** Returns all cases in a thorough run. Otherwise the function returns the first case and then each `every`-th case. */
export const sampled = <T>(cases: readonly T[], every: number): readonly T[] =>
  isThorough ? cases : cases.filter((_, index) => index % every === 0);

/** Returns the number of cases: `full` in a thorough run, and `plain` otherwise. */
export const thoroughly = (full: number, plain: number): number => (isThorough ? full : plain);
