import { ABSENT, type Choice, fieldOf } from './demand.ts';
import { OrderedKeys } from './ordered-keys.ts';
import type { StoredRecord } from './record.ts';

/** The smallest possible character. A key followed by this character is the next possible key. */
const AFTER_KEY = '\u0000';

/** A set of keys. If `inside` is true, the set contains the keys in the trees, and otherwise all other keys. */
export interface KeySet {
  readonly trees: readonly OrderedKeys[];
  readonly inside: boolean;
}

/** An index of records by a value. The keys are sorted, so the keys of a namespace are adjacent. */
export class RecordIndex {
  readonly #field: string;
  readonly #values = new Map<string, OrderedKeys>();
  /** The keys of records with the label. A record without the label needs no memory in the index. */
  readonly #present = new OrderedKeys();

  constructor(field: string) {
    this.#field = field;
  }

  get size(): number {
    return this.#present.size;
  }

  set(key: string, record: StoredRecord, previous: StoredRecord | undefined): void {
    const value = fieldOf(record, this.#field);
    const before = previous === undefined ? ABSENT : fieldOf(previous, this.#field);
    if (value === before) return;
    this.#leave(key, before, value === ABSENT);
    if (value === ABSENT) return;
    const keys = this.#values.get(value) ?? new OrderedKeys();
    this.#values.set(value, keys);
    keys.add(key);
    this.#present.add(key);
  }

  delete(key: string, record: StoredRecord): void {
    this.#leave(key, fieldOf(record, this.#field), true);
  }

  allowed({ values, not }: Choice): KeySet {
    if (!values.includes(ABSENT)) return { trees: this.#trees(values), inside: !not };
    if (values.length === 1) return { trees: [this.#present], inside: not };
    return { trees: this.#trees([...this.#values.keys()].filter((value) => !values.includes(value))), inside: not };
  }

  #trees(values: readonly string[]): OrderedKeys[] {
    return [...new Set(values)].map((value) => this.#values.get(value)).filter((tree) => tree !== undefined);
  }

  #leave(key: string, value: string, isGone: boolean): void {
    if (value === ABSENT) return;
    if (isGone) this.#present.delete(key);
    const keys = this.#values.get(value);
    keys?.delete(key);
    if (keys?.size === 0) this.#values.delete(value);
  }
}

/**
 * Returns the first key of a set that is not less than `from`. Without such a key, the result is undefined.
 * @param all the sorted keys of all records
 */
export const seek = ({ trees, inside }: KeySet, all: OrderedKeys, from: string): string | undefined =>
  inside ? seekInside(trees, from) : seekOutside(all, trees, from);

function seekInside(trees: readonly OrderedKeys[], from: string): string | undefined {
  let least: string | undefined;
  for (const tree of trees) {
    const key = tree.at(tree.rank(from));
    if (key !== undefined && (least === undefined || key < least)) least = key;
  }
  return least;
}

/**
 * Returns the first key that is in no tree and is not less than `from`. A binary search finds the smallest n for which
 * fewer than n of the first n keys are in the trees. The cost stays logarithmic, even if many consecutive keys are in
 * the trees.
 */
function seekOutside(all: OrderedKeys, trees: readonly OrderedKeys[], from: string): string | undefined {
  const start = all.rank(from);
  const left = all.size - start;
  const taken = (key: string): number => trees.reduce((sum, tree) => sum + tree.rank(key), 0);
  const before = taken(from);
  const isFree = (n: number): boolean => taken(`${all.at(start + n - 1) ?? ''}${AFTER_KEY}`) - before < n;
  let high = 1;
  while (high < left && !isFree(high)) high *= 2;
  high = Math.min(high, left);
  if (high < 1 || !isFree(high)) return undefined;
  let low = high >>> 1;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isFree(middle)) high = middle;
    else low = middle;
  }
  return all.at(start + high - 1);
}
