const MAX = 2n ** 63n - 1n;

/** Parses the number of a revision as a 64-bit integer, like `strconv.ParseInt` of Go. */
export function parseRevision(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[-+]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value > MAX || value < -MAX - 1n ? undefined : value;
}

export const highest = (revisions: readonly bigint[]): bigint => [0n, ...revisions].sort(compareRevisions).at(-1) ?? 0n;

/** As in Go, the largest 64-bit integer is followed by the smallest 64-bit integer. */
export const nextRevision = (revision: bigint): bigint => BigInt.asIntN(64, revision + 1n);

export const compareRevisions = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
