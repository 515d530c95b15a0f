import type { Random } from './random.ts';

/** Exponential back-off with jitter. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** The random part of a wait, from 0 to 1. With 0.5, a wait of 8 s becomes a wait between 4 and 8 s. */
  readonly jitter: number;
}

/** Returns the wait before attempt `failures` + 1. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  const full = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 52));
  return full * (1 - options.jitter * random.next());
}
