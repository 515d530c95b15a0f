import type { PageOptions, RecordPage, StoredRecord, StoreEvent } from './store.ts';

/** The records of one namespace, with their names in order. The order is made when a list asks for it. */
class Bucket {
  readonly records = new Map<string, StoredRecord>();
  #names: string[] | undefined;

  set(record: StoredRecord): void {
    if (!this.records.has(record.name)) this.#names = undefined;
    this.records.set(record.name, record);
  }

  delete(name: string): void {
    if (this.records.delete(name)) this.#names = undefined;
  }

  names(): readonly string[] {
    this.#names ??= [...this.records.keys()].sort(compareKeys);
    return this.#names;
  }
}

/** Keys are ordered by bytes, as etcd orders them. Names are ASCII, so code units do. */
export const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

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

/** All records of one resource in memory, by namespace and name. */
export class ResourceTable {
  readonly #namespaces = new Map<string, Bucket>();
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
    return previous;
  }

  delete(namespace: string, name: string): StoredRecord | undefined {
    const bucket = this.#namespaces.get(namespace);
    const previous = bucket?.records.get(name);
    if (bucket === undefined || previous === undefined) return undefined;
    bucket.delete(name);
    if (bucket.records.size === 0) this.#namespaces.delete(namespace);
    this.#count--;
    return previous;
  }

  /** One page in key order. */
  page(options: PageOptions): RecordPage {
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

  /** The table as it was before the given changes (newest last). */
  before(changes: readonly StoreEvent[]): ResourceTable {
    const past = new ResourceTable();
    for (const bucket of this.#namespaces.values()) for (const record of bucket.records.values()) past.set(record);
    for (let index = changes.length - 1; index >= 0; index--) {
      const change = changes[index];
      if (change === undefined) continue;
      if (change.previous === undefined) past.delete(change.record.namespace, change.record.name);
      else past.set(change.previous);
    }
    return past;
  }
}
