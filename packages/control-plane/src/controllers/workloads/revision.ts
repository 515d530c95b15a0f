const MAX = 2n ** 63n - 1n;

/** The number of a revision with 64 bits; undefined for an invalid text (`strconv.ParseInt` in Go). */
export function parseRevision(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[-+]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value > MAX || value < -MAX - 1n ? undefined : value;
}

/** The highest of some revisions, and 0 at least. */
export const highest = (revisions: readonly bigint[]): bigint => [0n, ...revisions].sort(compareRevisions).at(-1) ?? 0n;

/** The next revision. After the largest 64-bit integer follows the smallest, as in Go. */
export const nextRevision = (revision: bigint): bigint => BigInt.asIntN(64, revision + 1n);

/** Orders as a comparison function does. */
export const compareRevisions = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
