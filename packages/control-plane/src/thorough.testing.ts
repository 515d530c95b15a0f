/** True in `.ci/run`, which sets `MCM_THOROUGH`. Otherwise tests run a fixed sample. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
