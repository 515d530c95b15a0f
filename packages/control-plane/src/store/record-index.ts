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

const keyOf = ({ namespace, name }: StoredRecord): string => `${namespace}/${name}`;
const NOTHING: ReadonlyMap<string, StoredRecord> = new Map();

/** The records of a resource by the value of one field. */
export class RecordIndex {
  readonly #field: string;
  readonly #values = new Map<string, Map<string, StoredRecord>>();

  constructor(field: string) {
    this.#field = field;
  }

  /** Takes up a record in the place of its previous state. */
  set(record: StoredRecord, previous: StoredRecord | undefined): void {
    const value = fieldOf(record, this.#field);
    if (previous !== undefined && fieldOf(previous, this.#field) !== value) this.delete(previous);
    const records = this.#values.get(value);
    if (records === undefined) this.#values.set(value, new Map([[keyOf(record), record]]));
    else records.set(keyOf(record), record);
  }

  delete(record: StoredRecord): void {
    const value = fieldOf(record, this.#field);
    const records = this.#values.get(value);
    if (records === undefined) return;
    records.delete(keyOf(record));
    if (records.size === 0) this.#values.delete(value);
  }

  get(value: string): ReadonlyMap<string, StoredRecord> {
    return this.#values.get(value) ?? NOTHING;
  }
}
