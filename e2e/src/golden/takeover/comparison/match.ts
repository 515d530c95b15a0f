import type { Difference } from '../recordings/compared-fields.ts';
import type { Rule } from './rules.ts';

export interface Pairing {
  readonly cost: number;
  readonly open: readonly Difference[];
  readonly rules: readonly Rule[];
  /** The number of steps that the recording may have missed. */
  readonly unseen: number;
}

interface Pair<T> {
  readonly ours: T;
  readonly theirs: T;
  readonly pairing: Pairing;
}

export interface Match<T> {
  readonly pairs: readonly Pair<T>[];
  readonly missing: readonly T[];
  readonly extra: readonly T[];
}

/** Pairs items of mcm with items of the original at the lowest total cost. */
export function matchAll<T>(ours: readonly T[], theirs: readonly T[], hold: (ours: T, theirs: T) => Pairing): Match<T> {
  const table = theirs.map((wanted) => ours.map((mine) => hold(mine, wanted)));
  const chosen = improved(greedy(table), table);
  const pairs = [...chosen].flatMap(([row, column]) => {
    const [mine, wanted, pairing] = [ours[column], theirs[row], table[row]?.[column]];
    return mine !== undefined && wanted !== undefined && pairing ? [{ ours: mine, theirs: wanted, pairing }] : [];
  });
  const taken = new Set(chosen.values());
  return {
    pairs,
    missing: theirs.filter((_, row) => !chosen.has(row)),
    extra: ours.filter((_, column) => !taken.has(column)),
  };
}

/** A smaller difference between two sums of weights is only a rounding error. */
const LEAST_GAIN = 0.001;

type Table = readonly (readonly Pairing[])[];

/** Selects the pair with the lowest cost first, and then the next pairs. */
function greedy(table: Table): Map<number, number> {
  const all = table.flatMap((line, row) => line.map(({ cost }, column) => ({ row, column, cost })));
  all.sort((one, other) => one.cost - other.cost);
  const chosen = new Map<number, number>();
  const taken = new Set<number>();
  for (const { row, column } of all) {
    if (chosen.has(row) || taken.has(column)) continue;
    chosen.set(row, column);
    taken.add(column);
  }
  return chosen;
}

/** Exchanges the partners of two pairs while this lowers the total cost. */
function improved(chosen: Map<number, number>, table: Table): ReadonlyMap<number, number> {
  const costOf = (row: number, column: number): number => table[row]?.[column]?.cost ?? 0;
  for (let changed = true; changed; ) {
    changed = false;
    for (const [row, column] of chosen)
      for (const [other, partner] of chosen) {
        const gain = costOf(row, column) + costOf(other, partner) - costOf(row, partner) - costOf(other, column);
        if (other <= row || gain < LEAST_GAIN || chosen.get(row) !== column) continue;
        chosen.set(row, partner).set(other, column);
        changed = true;
      }
  }
  return chosen;
}
