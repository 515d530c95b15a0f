/** `isThorough` is true in `.ci/run`, which sets `MCM_THOROUGH`. In a plain run, tests use a fixed sample. */
export const isThorough: boolean = Number(process.env.MCM_THOROUGH ?? 0) >= 1;
