/** `.ci/run` sets `MCM_THOROUGH`. Without `MCM_THOROUGH`, tests use a fixed sample. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
