/** The value of `MCM_THOROUGH`: absent in a plain run, `1` in `.ci/run`, and `2` in a run of all cases. */
const LEVEL = Number(process.env.MCM_THOROUGH ?? 0);

/**
 * True in `.ci/run` and in a run of all cases. A plain run uses a fixed sample of the cases, so that the run takes only
 * minutes.
 */
export const isThorough: boolean = LEVEL >= 1;
const isComplete = LEVEL >= 2;

/** In `.ci/run`, the sample contains every `inCi`-th case (default: all cases). */
export const sampled = <T>(cases: readonly T[], every: number, inCi = 1): readonly T[] => {
  const step = isComplete ? 1 : isThorough ? inCi : every;
  return cases.filter((_, index) => index % step === 0);
};

/**
 * Returns the number of cases for this run: `plain` in a plain run, `full` in `.ci/run`, `all` in a run of all cases.
 */
export const thoroughly = (full: number, plain: number, all = full): number =>
  isComplete ? all : isThorough ? full : plain;
