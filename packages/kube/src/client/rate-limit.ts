import { type Clock, sleep } from '../clock/clock.ts';

/** Client-side limit: `burst` requests at once, `qps` a second from then on. */
export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/**
 * A token bucket in which callers reserve their place at once and wait for it: first come, first served, one timer a
 * waiting caller. A caller that gives up leaves its place unused.
 */
export function createRateLimiter(limit: RateLimit, clock: Clock): (signal?: AbortSignal) => Promise<void> {
  const spacingMs = 1000 / limit.qps;
  const slackMs = Math.max(limit.burst - 1, 0) * spacingMs;
  let nextFree = Number.NEGATIVE_INFINITY; // The instant at which the bucket is full again, moved on by every caller.
  return async (signal) => {
    const now = clock.monotonic();
    nextFree = Math.max(nextFree, now) + spacingMs;
    const waitMs = nextFree - spacingMs - slackMs - now;
    if (waitMs > 0) await sleep(clock, Math.ceil(waitMs), signal);
  };
}
