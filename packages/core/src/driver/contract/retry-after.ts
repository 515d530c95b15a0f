/**
 * The maximum wait time that mcm accepts from a cloud or a proxy. mcm sends no call with the credentials of the account
 * during the wait time.
 */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** The HTTP headers in which Azure, older Azure services and AWS return a wait time in milliseconds. */
const IN_MS = ['retry-after-ms', 'x-ms-retry-after-ms', 'x-amz-retry-after'];

export const boundedWait = (ms: number | undefined): number | undefined =>
  ms === undefined || Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS);

/**
 * Returns the wait time that a response requests.
 * @returns milliseconds, more than 0 and at most one hour; undefined if the response requests no wait
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
