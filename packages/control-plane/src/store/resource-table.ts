import { type Equality, LABEL, meets, RecordIndex } from './record-index.ts';
import type { PageOptions, RecordPage, StoredRecord, StoreEvent } from './store.ts';

/** Labels by which a resource is indexed at most: each costs every write a little, and memory. */
const MAX_LABEL_INDEXES = 16;

/** Keys are ordered by bytes, as etcd orders them. Names are ASCII, so code units do. */
export const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const compareRecords = (a: StoredRecord, b: StoredRecord): number =>
  compareKeys(a.namespace, b.namespace) || compareKeys(a.name, b.name);

/** The records of one namespace, with their names in order. The order is made when a list first asks for it, and then kept. */
class Bucket {
  readonly records = new Map<string, StoredRecord>();
  #names: string[] | undefined;

  set(record: StoredRecord): void {
    const { name } = record;
    if (!this.records.has(name)) this.#names?.splice(upperBound(this.#names, name), 0, name);
    this.records.set(name, record);
  }

  delete(name: string): void {
    if (this.records.delete(name)) this.#names?.splice(upperBound(this.#names, name) - 1, 1);
  }

  names(): readonly string[] {
    this.#names ??= [...this.records.keys()].sort(compareKeys);
    return this.#names;
  }
}

/** Index of the first name that is greater than `after`. */
function upperBound(names: readonly string[], after: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] ?? '') <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Range = Pick<PageOptions, 'namespace' | 'after' | 'where'>;

/** Whether a record is one that a page may hold. */
const isWithin = (record: StoredRecord, { namespace, after, where = [] }: Range): boolean =>
  (namespace === undefined || record.namespace === namespace) &&
  (after === undefined ||
    record.namespace > after.namespace ||
    (record.namespace === after.namespace && record.name > after.name)) &&
  meets(record, where);

/** All records of one resource in memory, by namespace and name, and by the fields that were asked for. */
export class ResourceTable {
  readonly #namespaces = new Map<string, Bucket>();
  readonly #indexes = new Map<string, RecordIndex>();
  #count = 0;

  get size(): number {
    return this.#count;
  }

  get(namespace: string, name: string): StoredRecord | undefined {
    return this.#namespaces.get(namespace)?.records.get(name);
  }

  set(record: StoredRecord): StoredRecord | undefined {
    let bucket = this.#namespaces.get(record.namespace);
    if (bucket === undefined) {
      bucket = new Bucket();
      this.#namespaces.set(record.namespace, bucket);
    }
    const previous = bucket.records.get(record.name);
    if (previous === undefined) this.#count++;
    bucket.set(record);
    for (const index of this.#indexes.values()) index.set(record, previous);
    return previous;
  }

  delete(namespace: string, name: string): StoredRecord | undefined {
    const bucket = this.#namespaces.get(namespace);
    const previous = bucket?.records.get(name);
    if (bucket === undefined || previous === undefined) return undefined;
    bucket.delete(name);
    if (bucket.records.size === 0) this.#namespaces.delete(namespace);
    for (const index of this.#indexes.values()) index.delete(previous);
    this.#count--;
    return previous;
  }

  /** One page in key order. */
  page(options: PageOptions): RecordPage {
    const { where = [] } = options;
    if (where.length > 0) return this.#found(where, options);
    const { namespace, after, limit = Number.POSITIVE_INFINITY } = options;
    const records: StoredRecord[] = [];
    let remaining = 0;
    const namespaces = namespace === undefined ? [...this.#namespaces.keys()].sort(compareKeys) : [namespace];
    for (const key of namespaces) {
      if (after !== undefined && key < after.namespace) continue;
      const bucket = this.#namespaces.get(key);
      if (bucket === undefined) continue;
      const names = bucket.names();
      const from = after !== undefined && key === after.namespace ? upperBound(names, after.name) : 0;
      const to = Math.min(names.length, from + Math.max(0, limit - records.length));
      for (let index = from; index < to; index++) {
        const record = bucket.records.get(names[index] ?? '');
        if (record !== undefined) records.push(record);
      }
      remaining += names.length - to;
    }
    return { records, remaining };
  }

  /** A page as it was before the given changes (oldest first): what is now, with what they replaced. */
  pageBefore(changes: readonly StoreEvent[], options: PageOptions): RecordPage {
    const { limit = Number.POSITIVE_INFINITY } = options;
    // The first change of an object has the state before all of them.
    const undone = new Map<string, StoreEvent>();
    for (const change of changes) {
      const key = `${change.record.namespace}/${change.record.name}`;
      if (!undone.has(key)) undone.set(key, change);
    }
    const now = this.page({ ...options, limit: limit + undone.size });
    let total = now.records.length + now.remaining;
    const records = now.records.filter(({ namespace, name }) => !undone.has(`${namespace}/${name}`));
    for (const { record, previous } of undone.values()) {
      const current = this.get(record.namespace, record.name);
      if (current !== undefined && isWithin(current, options)) total--;
      if (previous === undefined || !isWithin(previous, options)) continue;
      total++;
      records.push(previous);
    }
    const chosen = records.sort(compareRecords).slice(0, Math.min(limit, records.length));
    return { records: chosen, remaining: total - chosen.length };
  }

  /** The records that meet equalities, found by the one that leaves the fewest. */
  #found(where: readonly Equality[], options: PageOptions): RecordPage {
    const { limit = Number.POSITIVE_INFINITY } = options;
    const records = this.#candidates(where, options.namespace)
      .filter((record) => isWithin(record, options))
      .sort(compareRecords);
    const page = records.slice(0, Math.min(limit, records.length));
    return { records: page, remaining: records.length - page.length };
  }

  #candidates(where: readonly Equality[], within: string | undefined): StoredRecord[] {
    const namespace = within ?? where.find(({ field }) => field === 'metadata.namespace')?.value;
    const name = where.find(({ field }) => field === 'metadata.name')?.value;
    if (namespace !== undefined && name !== undefined) {
      const record = this.get(namespace, name);
      return record === undefined ? [] : [record];
    }
    let fewest: ReadonlyMap<string, StoredRecord> | undefined =
      namespace === undefined ? undefined : (this.#namespaces.get(namespace)?.records ?? new Map());
    for (const { field, value } of where) {
      if (field === 'metadata.namespace') continue;
      const records = this.#index(field).get(value);
      if (fewest === undefined || records.size < fewest.size) fewest = records;
    }
    return [...(fewest?.values() ?? [])];
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
      for (const bucket of this.#namespaces.values()) {
        for (const record of bucket.records.values()) index.set(record, undefined);
      }
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
