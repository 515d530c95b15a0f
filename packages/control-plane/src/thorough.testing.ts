/** Whether the tests run all cases, because `.ci/run` sets `MCM_THOROUGH`. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
