import { type Clock, sleep } from '../clock/clock.ts';

/** A limit for the rate of requests: `burst` requests immediately, and then `qps` requests per second. */
export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** Creates a function that delays calls so that their rate stays within the limit. */
export function createRateLimiter(limit: RateLimit, clock: Clock): (signal?: AbortSignal) => Promise<void> {
  const spacingMs = 1000 / limit.qps;
  const slackMs = Math.max(limit.burst - 1, 0) * spacingMs;
  // The time at which the token bucket is full. Every call moves `nextFree` further into the future.
  let nextFree = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const now = clock.monotonic();
    nextFree = Math.max(nextFree, now) + spacingMs;
    const waitMs = nextFree - spacingMs - slackMs - now;
    if (waitMs > 0) await sleep(clock, Math.ceil(waitMs), signal);
  };
}
