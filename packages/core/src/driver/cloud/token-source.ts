import type { Clock } from '@mcm/kube';
import { singleFlight } from './single-flight.ts';

/** A token as the token service returned it. */
export interface Token {
  readonly value: string;
  /** When it ends, in milliseconds since the epoch. */
  readonly until: number;
}

/** The token of one identity, kept until shortly before its end. */
export interface TokenSource {
  /** @throws what asking for it throws, or the signal's reason */
  get(signal: AbortSignal): Promise<string>;
  /** The cloud refused this token, possibly before its end. The next call gets another one. */
  refused(value: string): void;
}

/** A token is renewed this long before its end, or after half of its life if that is later. */
const RENEW_BEFORE_MS = 300_000;

/** Those who need it together ask once. @param fetch Asks for a token. */
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
