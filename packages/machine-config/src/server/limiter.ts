import type { Clock } from '@mcm/kube';

/** How often somebody may ask. */
export interface RateLimit {
  /** Requests at once. */
  readonly burst: number;
  readonly perMinute: number;
}

/** Counts requests of each address; forgets those that have been quiet. */
export interface RateLimiter {
  /** Undefined: go on; else after how many seconds to ask again. */
  take(address: string): number | undefined;
}

/** Addresses that are remembered: more only cost memory. */
const REMEMBERED = 10_000;
const MINUTE_MS = 60_000;

/** Gives each address a bucket of `burst` requests that fills up again. */
export function createRateLimiter({ burst, perMinute }: RateLimit, clock: Clock): RateLimiter {
  const buckets = new Map<string, { left: number; at: number }>();
  return {
    take(address) {
      const now = clock.now().getTime();
      const known = buckets.get(address) ?? { left: burst, at: now };
      const left = Math.min(burst, known.left + ((now - known.at) * perMinute) / MINUTE_MS);
      // Set anew, so that the first of the map is the one that has been quiet for longest.
      buckets.delete(address);
      const [quietest] = buckets.keys();
      if (quietest !== undefined && buckets.size >= REMEMBERED) buckets.delete(quietest);
      buckets.set(address, { left: left >= 1 ? left - 1 : left, at: now });
      return left >= 1 ? undefined : Math.ceil(((1 - left) * MINUTE_MS) / perMinute / 1000);
    },
  };
}
