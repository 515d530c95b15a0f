/** Whether the tests run all cases, which is the case if `.ci/run` has set `MCM_THOROUGH`. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
