/** The value of `MCM_THOROUGH`: absent in a plain run, `1` in `.ci/run`, and `2` for a run of all cases. */
const LEVEL = Number(process.env.MCM_THOROUGH ?? 0);

/**
 * `isThorough` is true in `.ci/run`, and in a run of all cases. A plain run uses a fixed sample of the cases, and takes
 * only minutes.
 */
export const isThorough: boolean = LEVEL >= 1;
const isComplete = LEVEL >= 2;

/**
 * Returns a sample of the cases: the first case, and then each `every`-th case. In `.ci/run`, the sample has each
 * `inCi`-th case, by default all cases. A run of all cases returns all.
 */
export const sampled = <T>(cases: readonly T[], every: number, inCi = 1): readonly T[] => {
  const step = isComplete ? 1 : isThorough ? inCi : every;
  return cases.filter((_, index) => index % step === 0);
};

/** Returns the number of cases: `plain` in a plain run, `full` in `.ci/run`, and `all` in a run of all cases. */
export const thoroughly = (full: number, plain: number, all = full): number =>
  isComplete ? all : isThorough ? full : plain;
