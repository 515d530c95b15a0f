/** An answer of a server with times of our clock. Milliseconds since the epoch. */
export interface DatedAnswer {
  /** Times of the request and of its answer. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The `Date` header, rounded down to seconds. */
  readonly date: number;
}

/** Smallest skew that is reported. Leases, token expiry and time limits have a precision of seconds. */
const SKEW_WARNING_MS = 10_000;

/**
 * The minimum by which the server's clock is ahead (positive) or behind (negative), in milliseconds. 0 when both may be equal.
 * The server read its clock between request and answer, and rounded it down to seconds.
 */
export function surelySkewed({ sentAt, receivedAt, date }: DatedAnswer): number {
  if (date > receivedAt) return date - receivedAt;
  const latest = date + 999;
  return latest < sentAt ? latest - sentAt : 0;
}

/** The consequences of a skew. Undefined for a harmless one. */
export function skewSentence(server: string, skewMs: number): string | undefined {
  if (Math.abs(skewMs) < SKEW_WARNING_MS) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const way = skewMs > 0 ? 'behind' : 'ahead of';
  return `this machine's clock is ${seconds} s ${way} that of the ${server} API server. Timeouts are wrong by that time. Repair the time synchronization (NTP)`;
}
