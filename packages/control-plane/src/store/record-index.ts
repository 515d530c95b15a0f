import type { StoredRecord } from './store.ts';

/** What the field of an equality begins with that is about a label. */
export const LABEL = 'label:';

/** What a record has to be: `field` is `metadata.name`, `metadata.namespace`, a selectable field of its kind, or a label. */
export interface Equality {
  readonly field: string;
  readonly value: string;
}

/** What a record has in a field; '' where it has nothing. */
export function fieldOf(record: StoredRecord, field: string): string {
  if (field === 'metadata.name') return record.name;
  if (field === 'metadata.namespace') return record.namespace;
  if (field.startsWith(LABEL)) {
    const key = field.slice(LABEL.length);
    return record.labels !== undefined && Object.hasOwn(record.labels, key) ? (record.labels[key] ?? '') : '';
  }
  return record.fields?.[field] ?? '';
}

export const meets = (record: StoredRecord, where: readonly Equality[]): boolean =>
  where.every(({ field, value }) => fieldOf(record, field) === value);

const NOTHING: ReadonlySet<StoredRecord> = new Set();

interface Records {
  readonly byNamespace: Map<string, Set<StoredRecord>>;
  size: number;
}

/** The records of a resource by the value of one field, and by their namespaces below it. */
export class RecordIndex {
  readonly #field: string;
  readonly #values = new Map<string, Records>();

  constructor(field: string) {
    this.#field = field;
  }

  /** Takes up a record in the place of its previous state. */
  set(record: StoredRecord, previous: StoredRecord | undefined): void {
    const value = fieldOf(record, this.#field);
    // First the new one, so that what holds only this object is not taken apart and made again.
    let records = this.#values.get(value);
    if (records === undefined) {
      records = { byNamespace: new Map(), size: 0 };
      this.#values.set(value, records);
    }
    const near = records.byNamespace.get(record.namespace);
    if (near === undefined) records.byNamespace.set(record.namespace, new Set([record]));
    else near.add(record);
    records.size++;
    if (previous !== undefined) this.delete(previous);
  }

  delete(record: StoredRecord): void {
    const value = fieldOf(record, this.#field);
    const records = this.#values.get(value);
    const near = records?.byNamespace.get(record.namespace);
    if (records === undefined || near === undefined || !near.delete(record)) return;
    records.size--;
    if (near.size === 0) records.byNamespace.delete(record.namespace);
    if (records.size === 0) this.#values.delete(value);
  }

  /** How many have the value. */
  count(value: string, namespace: string | undefined): number {
    const records = this.#values.get(value);
    return namespace === undefined ? (records?.size ?? 0) : (records?.byNamespace.get(namespace)?.size ?? 0);
  }

  /** Those that have the value, in no order. */
  *get(value: string, namespace: string | undefined): Generator<StoredRecord> {
    const near = this.#values.get(value)?.byNamespace;
    if (namespace !== undefined) yield* near?.get(namespace) ?? NOTHING;
    else for (const records of near?.values() ?? []) yield* records;
  }
}
