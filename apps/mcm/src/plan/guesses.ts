const MINUTE = 60_000;

/** What things are taken to last where nothing is known of them, in milliseconds. */
export const GUESSES = { join: 5 * MINUTE, drain: 2 * MINUTE, remove: MINUTE, update: 10 * MINUTE } as const;
