const MINUTE = 60_000;

/** The durations that a plan assumes if nothing is known, in milliseconds. */
export const GUESSES = { join: 5 * MINUTE, drain: 2 * MINUTE, remove: MINUTE, update: 10 * MINUTE } as const;
