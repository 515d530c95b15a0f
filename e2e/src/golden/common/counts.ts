/** How often something occurred, by its description. */
export type Counts = Readonly<Record<string, number>>;

export function sumOf(all: Iterable<Counts | undefined>): Counts {
  const sum: Record<string, number> = {};
  for (const counts of all)
    for (const [what, count] of Object.entries(counts ?? {})) sum[what] = (sum[what] ?? 0) + count;
  return sum;
}

/** Returns counts of one for all texts. */
export const onceEach = (texts: Iterable<string>): Counts => Object.fromEntries([...texts].map((text) => [text, 1]));
