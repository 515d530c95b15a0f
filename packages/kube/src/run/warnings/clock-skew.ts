/**
 */
export interface DatedAnswer {
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly date: number;
}

/** The difference between two clocks above which mcm warns. Leases and tokens have a precision of seconds. */
const SKEW_WARNING_MS = 10_000;

/**
 * Returns the minimum difference between the clock of the server and the clock of this process. If the result is
 * positive, the server is ahead.
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
