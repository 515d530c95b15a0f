/** The times of a response, by the clock of this process, in milliseconds since 1970. */
export interface DatedAnswer {
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The `Date` header of the answer. The server rounds the time down to seconds. */
  readonly date: number;
}

/** Minimum difference for a warning. Leases, token expiry and time limits have a precision of seconds. */
const SKEW_WARNING_MS = 10_000;

/**
 * Returns the smallest possible difference between the clocks in milliseconds. The result is positive if the server is
 * ahead, negative if the server is behind, and 0 if the clocks may be equal. The server read its clock between request
 * and response, and rounded down to seconds.
 */
export function surelySkewed({ sentAt, receivedAt, date }: DatedAnswer): number {
  if (date > receivedAt) return date - receivedAt;
  const latest = date + 999;
  return latest < sentAt ? latest - sentAt : 0;
}

/** Returns a warning about different clocks, or undefined for a harmless difference. */
export function skewSentence(server: string, skewMs: number): string | undefined {
  if (Math.abs(skewMs) < SKEW_WARNING_MS) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const way = skewMs > 0 ? 'behind' : 'ahead of';
  return `the clock of this machine is ${seconds} s ${way} the clock of the ${server} API server. Timeouts are wrong by the same difference. Repair the time synchronization (NTP)`;
}
