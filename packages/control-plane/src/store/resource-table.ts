import type { History } from './history.ts';
import { compareKeys, OrderedKeys } from './ordered-keys.ts';
import { keyOf } from './pin.ts';
import { type Equality, LABEL, meets, RecordIndex } from './record-index.ts';
import type { PageOptions, RecordPage, StoredRecord } from './store.ts';
import { WordIndex, type Words } from './word-index.ts';

/** Labels by which a resource is indexed at most: each costs every write a little, and memory. */
const MAX_LABEL_INDEXES = 16;

/** The least character of names, and the one after the slash: where a key's followers and a namespace's end are. */
const AFTER_KEY = '\u0000';
const AFTER_SLASH = '0';

/** The keys that a page may hold: from the first on, up to the last, which is not among them. */
function boundsOf({ namespace, after }: PageOptions): { from: string; to: string | undefined } {
  const start = namespace === undefined ? '' : `${namespace}/`;
  const next = after === undefined ? '' : `${keyOf(after)}${AFTER_KEY}`;
  return {
    from: compareKeys(start, next) < 0 ? next : start,
    to: namespace === undefined ? undefined : `${namespace}${AFTER_SLASH}`,
  };
}

/** Whether a record is one that a page may hold. */
const isWithin = (record: StoredRecord, { namespace, after, where = [] }: PageOptions): boolean =>
  (namespace === undefined || record.namespace === namespace) &&
  (after === undefined || keyOf(record) > keyOf(after)) &&
  meets(record, where);

const inOrder = (records: StoredRecord[]): StoredRecord[] =>
  records
    .map((record) => ({ key: keyOf(record), record }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ record }) => record);

/** The first records that are meant, and whether there are more (`remaining` is 1 then). */
function take(records: Iterable<StoredRecord>, { matches, limit = Number.POSITIVE_INFINITY }: PageOptions): RecordPage {
  const chosen: StoredRecord[] = [];
  for (const record of records) {
    if (matches !== undefined && !matches(record)) continue;
    if (chosen.length >= limit) return { records: chosen, remaining: 1 };
    chosen.push(record);
  }
  return { records: chosen, remaining: 0 };
}

/** Two ordered sequences of distinct keys as one. */
function* merged(a: Iterator<string>, b: Iterator<string>): Generator<string> {
  let [left, right] = [a.next(), b.next()];
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && left.value < right.value)) {
      yield left.value;
      left = a.next();
    } else {
      yield right.value;
      right = b.next();
    }
  }
}

/** All records of one resource in memory, by key in the order of keys, and by the fields that were asked for. */
export class ResourceTable {
  readonly #records = new Map<string, StoredRecord>();
  readonly #keys = new OrderedKeys();
  readonly #namespaces = new Map<string, number>();
  readonly #indexes = new Map<string, RecordIndex>();
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
    for (const index of this.#indexes.values()) index.set(record, previous);
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
    for (const index of this.#indexes.values()) index.delete(previous);
    for (const index of this.#words.values()) index.delete(previous);
    return previous;
  }

  /** The records under any of the words. */
  find(words: Words, asked: Iterable<string>): readonly StoredRecord[] {
    let index = this.#words.get(words);
    if (index === undefined) {
      index = new WordIndex(words);
      for (const record of this.#records.values()) index.set(record, undefined);
      this.#words.set(words, index);
    }
    return index.find(asked);
  }

  /** One page in key order. */
  page(options: PageOptions): RecordPage {
    const { where = [], matches } = options;
    if (where.length > 0) {
      const found = [...this.#candidates(where, options.namespace)].filter((record) => isWithin(record, options));
      return counted(inOrder(found), options);
    }
    const { from, to } = boundsOf(options);
    const page = take(this.#recordsOf(this.#keys.range(from, to)), options);
    if (matches !== undefined || page.remaining === 0) return page;
    const end = to === undefined ? this.size : this.#keys.rank(to);
    return { records: page.records, remaining: end - this.#keys.rank(from) - page.records.length };
  }

  /** A page as it was at a revision from which the history knows all changes. */
  pageAt(revision: number, history: History, options: PageOptions): RecordPage {
    const { where = [], matches, namespace, after } = options;
    if (where.length > 0) return counted(inOrder(this.#foundAt(revision, history, options)), options);
    const page = take(this.#rangeAt(revision, history, options), options);
    if (matches !== undefined || page.remaining === 0) return page;
    const left = options.left ?? (after === undefined ? this.#sizeAt(revision, history, namespace) : undefined);
    if (left !== undefined) return { records: page.records, remaining: left - page.records.length };
    // Somebody else's place in the list: what comes after it has to be counted.
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

  /** What keys stood for at a revision: what the first change after it replaced. */
  *#recordsAt(revision: number, history: History, keys: Iterable<string>): Generator<StoredRecord> {
    for (const key of keys) {
      const change = history.firstAfter(revision, { key });
      const record = change === undefined ? this.#records.get(key) : change.previous;
      if (record !== undefined) yield record;
    }
  }

  #foundAt(revision: number, history: History, options: PageOptions): StoredRecord[] {
    const { where = [], namespace } = options;
    const near = namespace === undefined ? where : [...where, { field: 'metadata.namespace', value: namespace }];
    const keys = new Set<string>();
    for (const record of this.#candidates(where, namespace)) keys.add(keyOf(record));
    for (const { record } of history.since(revision, near) ?? []) keys.add(keyOf(record));
    return [...this.#recordsAt(revision, history, keys)].filter((record) => isWithin(record, options));
  }

  #sizeAt(revision: number, history: History, namespace: string | undefined): number {
    const change = history.firstAfter(revision, { namespace });
    if (change === undefined) return namespace === undefined ? this.size : this.sizeOf(namespace);
    const { type, population } = change;
    const size = namespace === undefined ? population.all : population.namespace;
    return type === 'ADDED' ? size - 1 : type === 'DELETED' ? size + 1 : size;
  }

  /** What may meet the equalities, found by the one that leaves the fewest. */
  #candidates(where: readonly Equality[], within: string | undefined): Iterable<StoredRecord> {
    const namespace = within ?? where.find(({ field }) => field === 'metadata.namespace')?.value;
    const name = where.find(({ field }) => field === 'metadata.name')?.value;
    if (namespace !== undefined && name !== undefined) {
      const record = this.get(namespace, name);
      return record === undefined ? [] : [record];
    }
    let fewest: { count: number; index: RecordIndex; value: string } | undefined;
    for (const { field, value } of where) {
      if (field === 'metadata.namespace') continue;
      const index = this.#index(field);
      const count = index.count(value, namespace);
      if (fewest === undefined || count < fewest.count) fewest = { count, index, value };
    }
    if (fewest !== undefined) return fewest.index.get(fewest.value, namespace);
    const { from, to } = boundsOf({ namespace });
    return this.#recordsOf(this.#keys.range(from, to));
  }

  /** Made when the field is first asked for: what nobody asks for costs nothing. */
  #index(field: string): RecordIndex {
    let index = this.#indexes.get(field);
    if (index !== undefined) {
      // The one asked for last is forgotten last.
      this.#indexes.delete(field);
      this.#indexes.set(field, index);
    } else {
      this.#forgetLabels();
      index = new RecordIndex(field);
      for (const record of this.#records.values()) index.set(record, undefined);
      this.#indexes.set(field, index);
    }
    return index;
  }

  /** Selectable fields are few; labels are what clients think of. */
  #forgetLabels(): void {
    const labels = [...this.#indexes.keys()].filter((field) => field.startsWith(LABEL));
    const [oldest] = labels;
    if (oldest !== undefined && labels.length >= MAX_LABEL_INDEXES) this.#indexes.delete(oldest);
  }
}

/** A page of records that are all there, so that the rest can be counted. */
function counted(records: readonly StoredRecord[], options: PageOptions): RecordPage {
  if (options.matches !== undefined) return take(records, options);
  const { limit = records.length } = options;
  const page = records.slice(0, limit);
  return { records: page, remaining: records.length - page.length };
}
