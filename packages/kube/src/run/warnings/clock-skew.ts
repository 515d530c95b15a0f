/**
 * The times of a response in milliseconds since 1970. `date` comes from the server. The other times come from the clock
 * of this process.
 */
export interface DatedAnswer {
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The `Date` header, which the server rounds down to seconds. */
  readonly date: number;
}

/**
 * mcm warns about a difference between two clocks only above this limit. Leases, tokens and time limits have a
 * precision of seconds.
 */
const SKEW_WARNING_MS = 10_000;

/**
 * Returns the minimum difference between the clocks of the server and this process, in milliseconds. A positive result
 * means that the clock of the server is ahead. With the result 0, the clocks may agree. The server read its clock
 * between the request and the response, and rounded the time down to seconds.
 */
export function surelySkewed({ sentAt, receivedAt, date }: DatedAnswer): number {
  if (date > receivedAt) return date - receivedAt;
  const latest = date + 999;
  return latest < sentAt ? latest - sentAt : 0;
}

/** Returns a warning about the difference between two clocks, or undefined if the difference is harmless. */
export function skewSentence(server: string, skewMs: number): string | undefined {
  if (Math.abs(skewMs) < SKEW_WARNING_MS) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const way = skewMs > 0 ? 'behind' : 'ahead of';
  return `the clock of this machine is ${seconds} s ${way} the clock of the ${server} API server. Timeouts are wrong by this difference. Repair the time synchronization (NTP)`;
}
