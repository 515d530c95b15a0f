/** An answer of a server, on our clock. Milliseconds since the epoch. */
export interface DatedAnswer {
  /** When the request was sent, and when its answer had come. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The `Date` header: whole seconds, cut off. */
  readonly date: number;
}

/** From here on it is told: leases, token expiry and time limits are kept to seconds. */
export const SKEW_WARNING_MS = 10_000;

/**
 * How far the server's clock is surely ahead (positive) or behind (negative), in milliseconds: somewhere between sending
 * and receiving it read its clock, and wrote whole seconds. 0 where both may be the same.
 */
export function surelySkewed({ sentAt, receivedAt, date }: DatedAnswer): number {
  if (date > receivedAt) return date - receivedAt;
  const latest = date + 999;
  return latest < sentAt ? latest - sentAt : 0;
}

/** Says what follows from it; undefined while it does no harm. */
export function skewSentence(server: string, skewMs: number): string | undefined {
  if (Math.abs(skewMs) < SKEW_WARNING_MS) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const way = skewMs > 0 ? 'behind' : 'ahead of';
  return `this machine's clock is ${seconds} s ${way} that of the ${server} API server: time limits of creation, health and drain, and the life of bootstrap tokens, are off by as much; mend time synchronisation (NTP)`;
}
