import type { Random } from './random.ts';

/** Exponential back-off with jitter. */
export interface BackoffOptions {
  /** The first wait. */
  readonly baseMs: number;
  /** The longest wait. */
  readonly maxMs: number;
  /** Random share of a wait, 0 to 1: at 0.5 a wait of 8 s is 4 to 8 s. */
  readonly jitter: number;
}

/** The wait before attempt `failures` + 1. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  const full = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 52));
  return full * (1 - options.jitter * random.next());
}
