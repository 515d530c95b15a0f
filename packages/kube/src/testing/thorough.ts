/**
 * Whether tests run all their cases and random histories: `MCM_THOROUGH=1`, as `.ci/run` sets it. A plain run takes a fixed sample, so that
 * a developer waits for minutes only.
 */
export const isThorough: boolean = process.env.MCM_THOROUGH === '1';

/** All cases in a thorough run. In a plain run, the first one and then each `every`-th. */
export const sampled = <T>(cases: readonly T[], every: number): readonly T[] =>
  isThorough ? cases : cases.filter((_, index) => index % every === 0);

/** A number of cases: the full number in a thorough run, and a smaller one in a plain run. */
export const thoroughly = (full: number, plain: number): number => (isThorough ? full : plain);
