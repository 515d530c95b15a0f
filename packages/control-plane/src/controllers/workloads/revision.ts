const MAX = 2n ** 63n - 1n;

/**
 * Parses the 64-bit number of a revision, as Go's `strconv.ParseInt` does. For an invalid text, the result is
 * undefined.
 */
export function parseRevision(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[-+]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value > MAX || value < -MAX - 1n ? undefined : value;
}

/** Returns the highest revision, or 0 if there are no revisions. */
export const highest = (revisions: readonly bigint[]): bigint => [0n, ...revisions].sort(compareRevisions).at(-1) ?? 0n;

/** Returns the next revision. As in Go, the smallest 64-bit integer follows the largest 64-bit integer. */
export const nextRevision = (revision: bigint): bigint => BigInt.asIntN(64, revision + 1n);

/** Compares two revisions, for sorting. */
export const compareRevisions = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
