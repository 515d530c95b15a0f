import { type Clock, sleep } from '../clock/clock.ts';

/** The limit: `burst` requests immediately, and then `qps` requests per second. */
export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** Calls continue in their order, and the token of an aborted call stays unused. */
export function createRateLimiter(limit: RateLimit, clock: Clock): (signal?: AbortSignal) => Promise<void> {
  const spacingMs = 1000 / limit.qps;
  const slackMs = Math.max(limit.burst - 1, 0) * spacingMs;
  let nextFree = Number.NEGATIVE_INFINITY; // Time at which the bucket is full; every call delays this time.
  return async (signal) => {
    const now = clock.monotonic();
    nextFree = Math.max(nextFree, now) + spacingMs;
    const waitMs = nextFree - spacingMs - slackMs - now;
    if (waitMs > 0) await sleep(clock, Math.ceil(waitMs), signal);
  };
}
