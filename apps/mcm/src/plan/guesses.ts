const MINUTE = 60_000;

export const GUESSES = {
  join: 5 * MINUTE,
  drain: 2 * MINUTE,
  remove: MINUTE,
  update: 10 * MINUTE,
  start: MINUTE,
  stop: MINUTE,
} as const;
