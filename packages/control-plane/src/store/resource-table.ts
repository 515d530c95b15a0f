import { ABSENT, choiceOf, type Demand, LABEL, meets, pinned } from './demand.ts';
import type { History } from './history.ts';
import { LabelIndexes } from './label-indexes.ts';
import { compareKeys, type KeyRange, OrderedKeys } from './ordered-keys.ts';
import { keyOf } from './pin.ts';
import type { StoredRecord } from './record.ts';
import { RecordIndex, seek } from './record-index.ts';
import type { PageOptions, RecordPage } from './store.ts';
import { WordIndex, type Words } from './word-index.ts';

/**
 * The maximum number of requirements for which a search uses indexes. The search compares all other requirements with
 * each record.
 */
const MAX_DEMANDS = 128;

/**
 * Two suffixes for the limits of a range. With `AFTER_KEY`, the range starts after a key. With `AFTER_SLASH`, the range
 * ends after the keys of a namespace.
 */
const AFTER_KEY = '\u0000';
const AFTER_SLASH = '0';

function boundsOf({ namespace, after }: Pick<PageOptions, 'namespace' | 'after'>): KeyRange {
  const start = namespace === undefined ? '' : `${namespace}/`;
  const next = after === undefined ? '' : `${keyOf(after)}${AFTER_KEY}`;
  return {
    from: compareKeys(start, next) < 0 ? next : start,
    to: namespace === undefined ? undefined : `${namespace}${AFTER_SLASH}`,
  };
}

const namespaceOf = ({ namespace, where = [] }: PageOptions): string | undefined =>
  namespace ?? pinned(where, 'metadata.namespace');

/** Returns the first matching records. `remaining` is 1 if more records match. */
function take(records: Iterable<StoredRecord>, { matches, limit = Number.POSITIVE_INFINITY }: PageOptions): RecordPage {
  const chosen: StoredRecord[] = [];
  for (const record of records) {
    if (matches !== undefined && !matches(record)) continue;
    if (chosen.length >= limit) return { records: chosen, remaining: 1 };
    chosen.push(record);
  }
  return { records: chosen, remaining: 0 };
}

/** Merges two sorted sequences of keys, and omits duplicates. */
function* merged(a: Iterator<string>, b: Iterator<string>): Generator<string> {
  let [left, right] = [a.next(), b.next()];
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && left.value < right.value)) {
      yield left.value;
      left = a.next();
    } else {
      if (left.done !== true && left.value === right.value) left = a.next();
      yield right.value;
      right = b.next();
    }
  }
}

const NO_KEYS = new OrderedKeys();
/** The number of keys without a match after which a search jumps to the next key that may match. */
const MISSES = 32;

/** The records of a resource. The records are sorted by key, and have indexes for the fields that requests use. */
export class ResourceTable {
  readonly #records = new Map<string, StoredRecord>();
  readonly #keys = new OrderedKeys();
  readonly #namespaces = new Map<string, number>();
  readonly #fields = new Map<string, RecordIndex>();
  readonly #labels = new LabelIndexes();
  readonly #words = new Map<Words, WordIndex>();

  get size(): number {
    return this.#records.size;
  }

  sizeOf(namespace: string): number {
    return this.#namespaces.get(namespace) ?? 0;
  }

  get(namespace: string, name: string): StoredRecord | undefined {
    return this.#records.get(keyOf({ namespace, name }));
  }

  set(record: StoredRecord): StoredRecord | undefined {
    const key = keyOf(record);
    const previous = this.#records.get(key);
    this.#records.set(key, record);
    if (previous === undefined) {
      this.#keys.add(key);
      this.#namespaces.set(record.namespace, this.sizeOf(record.namespace) + 1);
    }
    for (const index of this.#fields.values()) index.set(key, record, previous);
    this.#labels.set(key, record, previous);
    for (const index of this.#words.values()) index.set(record, previous);
    return previous;
  }

  delete(namespace: string, name: string): StoredRecord | undefined {
    const key = keyOf({ namespace, name });
    const previous = this.#records.get(key);
    if (previous === undefined) return undefined;
    this.#records.delete(key);
    this.#keys.delete(key);
    const left = this.sizeOf(namespace) - 1;
    if (left === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, left);
    for (const index of this.#fields.values()) index.delete(key, previous);
    this.#labels.delete(key, previous);
    for (const index of this.#words.values()) index.delete(previous);
    return previous;
  }

  find(words: Words, asked: Iterable<string>): readonly StoredRecord[] {
    let index = this.#words.get(words);
    if (index === undefined) {
      index = new WordIndex(words);
      for (const record of this.#records.values()) index.set(record, undefined);
      this.#words.set(words, index);
    }
    return index.find(asked);
  }

  page(options: PageOptions): RecordPage {
    const { where = [], matches } = options;
    const range = boundsOf({ ...options, namespace: namespaceOf(options) });
    const keys = where.length === 0 ? this.#keys.range(range.from, range.to) : this.#search(where, range);
    const page = take(this.#recordsOf(keys), options);
    if (where.length > 0 || matches !== undefined || page.remaining === 0) return page;
    return { records: page.records, remaining: this.#keys.count(range) - page.records.length };
  }

  pageAt(revision: number, history: History, options: PageOptions): RecordPage {
    const { where = [], matches, namespace, after } = options;
    if (where.length > 0) return take(this.#foundAt(revision, history, options), options);
    const page = take(this.#rangeAt(revision, history, options), options);
    if (matches !== undefined || page.remaining === 0) return page;
    const left = options.left ?? (after === undefined ? this.#sizeAt(revision, history, namespace) : undefined);
    if (left !== undefined) return { records: page.records, remaining: left - page.records.length };
    // The caller does not know the number of remaining records, so the store must count them.
    const rest = take(this.#rangeAt(revision, history, { namespace, after: page.records.at(-1) ?? after }), {});
    return { records: page.records, remaining: rest.records.length };
  }

  #rangeAt(revision: number, history: History, options: PageOptions): Generator<StoredRecord> {
    const { from, to } = boundsOf(options);
    return this.#recordsAt(revision, history, merged(this.#keys.range(from, to), history.gone.range(from, to)));
  }

  *#recordsOf(keys: Iterable<string>): Generator<StoredRecord> {
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record !== undefined) yield record;
    }
  }

  /**
   * Yields the records as they were at an earlier revision. The first change after this revision contains the older
   * record as `previous`.
   */
  *#recordsAt(revision: number, history: History, keys: Iterable<string>): Generator<StoredRecord> {
    for (const key of keys) {
      const change = history.firstAfter(revision, { key });
      const record = change === undefined ? this.#records.get(key) : change.previous;
      if (record !== undefined) yield record;
    }
  }

  /**
   * Yields the matching records at an earlier revision. The method searches the records that match now, and the records
   * that have changed since the revision.
   */
  *#foundAt(revision: number, history: History, options: PageOptions): Generator<StoredRecord> {
    const { where = [] } = options;
    const namespace = namespaceOf(options);
    const range = boundsOf({ ...options, namespace });
    const near = namespace === undefined ? where : [...where, { field: 'metadata.namespace', value: namespace }];
    const changed = (history.since(revision, near) ?? [])
      .map(({ record }) => keyOf(record))
      .filter((key) => key >= range.from && (range.to === undefined || key < range.to));
    const keys = merged(this.#search(where, range), [...new Set(changed)].sort(compareKeys).values());
    for (const record of this.#recordsAt(revision, history, keys)) if (meets(record, where)) yield record;
  }

  #sizeAt(revision: number, history: History, namespace: string | undefined): number {
    const change = history.firstAfter(revision, { namespace });
    if (change === undefined) return namespace === undefined ? this.size : this.sizeOf(namespace);
    const { type, population } = change;
    const size = namespace === undefined ? population.all : population.namespace;
    return type === 'ADDED' ? size - 1 : type === 'DELETED' ? size + 1 : size;
  }

  /**
   * Yields the keys that may meet all requirements, in order. The smallest index provides the keys. After many keys
   * without a match, the search jumps to the next key that may match.
   */
  *#search(where: readonly Demand[], range: KeyRange): Generator<string> {
    const { to } = range;
    const name = pinned(where, 'metadata.name');
    if (name !== undefined && to !== undefined) {
      const key = keyOf({ namespace: to.slice(0, -AFTER_SLASH.length), name });
      if (key >= range.from && this.#meets(key, where)) yield key;
      return;
    }
    const source = this.#source(where, range);
    let misses = 0;
    let from: string | undefined = range.from;
    while (from !== undefined) {
      let next: string | undefined;
      for (const key of source({ from, to })) {
        if (this.#meets(key, where)) {
          misses = 0;
          yield key;
        } else if (++misses >= MISSES) {
          next = `${key}${AFTER_KEY}`;
          break;
        }
      }
      if (next === undefined) return;
      from = this.#leap(where, next);
      if (from !== undefined && to !== undefined && from >= to) return;
    }
  }

  #meets(key: string, where: readonly Demand[]): boolean {
    const record = this.#records.get(key);
    return record !== undefined && meets(record, where);
  }

  /** Returns the first key from `from` on that may meet all requirements. */
  #leap(where: readonly Demand[], from: string): string | undefined {
    let at = from;
    for (const demand of where.slice(0, MAX_DEMANDS)) {
      const next = seek(this.#index(demand.field).allowed(choiceOf(demand)), this.#keys, at);
      if (next === undefined) return undefined;
      at = next;
    }
    return at;
  }

  /** Returns the keys in the smallest index for the requirements. Without an index, returns all keys. */
  #source(where: readonly Demand[], range: KeyRange): (range: KeyRange) => Iterable<string> {
    let fewest: { count: number; trees: readonly OrderedKeys[] } | undefined;
    for (const demand of where.slice(0, MAX_DEMANDS)) {
      const choice = choiceOf(demand);
      // A namespace needs no index, because the keys are sorted by namespace. A negative requirement needs no index,
      // because most records meet it.
      if (choice.not !== choice.values.includes(ABSENT) || choice.field === 'metadata.namespace') continue;
      const { trees } = this.#index(choice.field).allowed(choice);
      const count = trees.reduce((sum, tree) => sum + tree.count(range), 0);
      if (fewest === undefined || count < fewest.count) fewest = { count, trees };
    }
    const [first = NO_KEYS, ...others] = fewest?.trees ?? [this.#keys];
    return ({ from, to }) =>
      others.reduce<Generator<string>>((all, tree) => merged(all, tree.range(from, to)), first.range(from, to));
  }

  /**
   * Returns the index of a field. The first use creates the index. A kind has only a few selectable fields, and labels
   * have separate indexes.
   */
  #index(field: string): RecordIndex {
    if (field.startsWith(LABEL)) return this.#labels.index(field.slice(LABEL.length), (key) => this.#records.get(key));
    let index = this.#fields.get(field);
    if (index === undefined) {
      index = new RecordIndex(field);
      for (const [key, record] of this.#records) index.set(key, record, undefined);
      this.#fields.set(field, index);
    }
    return index;
  }
}
