import { type Measure, packageOf } from './measures.ts';

/** A package without an entry may have no weakness. */
export type Limits = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Returns the number of weaknesses, by measure and by package. Packages without weaknesses have no entry. */
export function countsOf(measures: readonly Measure[]): Limits {
  return Object.fromEntries(
    measures.map(({ id, found }) => {
      const groups = Object.groupBy(found, ({ path }) => packageOf(path));
      const counts = Object.entries(groups).map(([name, group]) => [name, group?.length ?? 0] as const);
      return [id, Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)))];
    }),
  );
}

/** Returns the limits after an update. No limit increases, and packages without weaknesses are removed. */
export function lowered(limits: Limits, counts: Limits): Limits {
  return Object.fromEntries(
    Object.entries(counts).map(([id, packages]) => {
      const kept = Object.entries(packages).map(
        ([name, count]) => [name, Math.min(count, limits[id]?.[name] ?? 0)] as const,
      );
      return [id, Object.fromEntries(kept.filter(([, count]) => count > 0))];
    }),
  );
}

/** Returns one message for each measure and package over its limit, with its weaknesses. */
export function excesses(measures: readonly Measure[], limits: Limits): string[] {
  const counts = countsOf(measures);
  return measures.flatMap(({ id, title, found }) =>
    Object.entries(counts[id] ?? {})
      .filter(([name, count]) => count > (limits[id]?.[name] ?? 0))
      .map(([name, count]) => {
        const lines = found.filter(({ path }) => packageOf(path) === name).map(({ text }) => `  ${text}\n`);
        return `${name}: ${title}: ${count}, at most ${limits[id]?.[name] ?? 0} allowed\n${lines.join('')}`;
      }),
  );
}
