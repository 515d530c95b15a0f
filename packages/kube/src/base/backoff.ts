import type { Random } from './random.ts';

/** The settings of an exponential back-off with random delays. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** The random part of a delay: with 0.5, a delay of 8 s becomes a random delay between 4 s and 8 s. */
  readonly jitter: number;
}

/** Returns the delay before attempt `failures` + 1. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  const full = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 52));
  return full * (1 - options.jitter * random.next());
}
