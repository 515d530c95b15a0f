/** Whether the tests run all cases. The script `.ci/run` sets `MCM_THOROUGH` for this purpose. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
