import type { Clock } from '@mcm/kube';
import { singleFlight } from './single-flight.ts';

/** An access token from a token service, with its expiry. */
export interface Token {
  readonly value: string;
  readonly until: number;
}

/** Caches the token of one identity until shortly before its expiry. */
export interface TokenSource {
  /**
   * Returns the cached token while it is valid, or else requests a new token.
   * @throws the error of the token request, or the reason of the signal
   */
  get(signal: AbortSignal): Promise<string>;
  /** Reports that the cloud refused a token, so that the next call of `get` requests a new token. */
  refused(value: string): void;
}

/**
 * mcm renews a token this long before its expiry. mcm renews a token with a short lifetime after half of its lifetime.
 */
const RENEW_BEFORE_MS = 300_000;

/** Caches the tokens that `fetch` requests. */
export function tokenSource(clock: Clock, fetch: (signal: AbortSignal) => Promise<Token>): TokenSource {
  let known: { readonly value: string; readonly renewAt: number } | undefined;
  const renew = singleFlight(async (signal) => {
    const since = clock.now().getTime();
    const { value, until } = await fetch(signal);
    known = { value, renewAt: Math.max(until - RENEW_BEFORE_MS, (since + until) / 2) };
    return value;
  });
  return {
    get: async (signal) => (known && known.renewAt > clock.now().getTime() ? known.value : renew(signal)),
    refused: (value) => {
      if (known?.value === value) known = undefined;
    },
  };
}
