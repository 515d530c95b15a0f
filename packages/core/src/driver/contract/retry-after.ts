/** Longest wait that a cloud, or a proxy before it, is believed: all machines of an account wait for it. */
export const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** Headers that tell a wait in milliseconds: of Azure, of Azure's older services, of AWS. */
const IN_MS = ['retry-after-ms', 'x-ms-retry-after-ms', 'x-amz-retry-after'];

/** A wait that can be waited, in milliseconds; undefined for what is no number. */
export const boundedWait = (ms: number | undefined): number | undefined =>
  ms === undefined || Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS);

/**
 * How long an answer asks to be left alone: its `Retry-After` (RFC 9110: seconds or a date), or one of the headers of
 * clouds that tell it in milliseconds. @param now What a date is counted from
 * @returns milliseconds, more than 0 and an hour at most; undefined: it does not say, or wants no wait
 */
export function retryAfterOf(headers: { get(name: string): string | null }, now: Date): number | undefined {
  const ms = IN_MS.map((name) => headers.get(name)).find((value) => value !== null);
  const wait = boundedWait(ms === undefined ? ofText(headers.get('retry-after'), now) : Number(ms));
  return wait || undefined;
}

function ofText(text: string | null, now: Date): number | undefined {
  if (text === null) return undefined;
  const seconds = Number(text);
  return Number.isNaN(seconds) ? Date.parse(text) - now.getTime() : seconds * 1_000;
}
