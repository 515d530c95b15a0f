import type { Clock } from '@mcm/kube';

/** The limit of requests from one address. */
export interface RateLimit {
  readonly burst: number;
  readonly perMinute: number;
}

/** Counts the requests of each address. The limiter removes inactive addresses. */
export interface RateLimiter {
  take(address: string): number | undefined;
}

/** Maximum number of stored addresses, to limit the memory of the rate limiter. */
const REMEMBERED = 10_000;
const MINUTE_MS = 60_000;

/** Creates a rate limiter, which has a bucket of `burst` requests for each address. */
export function createRateLimiter({ burst, perMinute }: RateLimit, clock: Clock): RateLimiter {
  const buckets = new Map<string, { left: number; at: number }>();
  return {
    take(address) {
      const now = clock.now().getTime();
      const known = buckets.get(address) ?? { left: burst, at: now };
      const left = Math.min(burst, known.left + ((now - known.at) * perMinute) / MINUTE_MS);
      // The entry moves to the end, so that the address with the longest inactivity stays first.
      buckets.delete(address);
      const [quietest] = buckets.keys();
      if (quietest !== undefined && buckets.size >= REMEMBERED) buckets.delete(quietest);
      buckets.set(address, { left: left >= 1 ? left - 1 : left, at: now });
      return left >= 1 ? undefined : Math.ceil(((1 - left) * MINUTE_MS) / perMinute / 1000);
    },
  };
}
