import { LABEL } from './demand.ts';
import type { StoredRecord } from './record.ts';
import { RecordIndex } from './record-index.ts';

const NONE: Readonly<Record<string, string>> = {};

/**
 * The indexes by label. The first selection by a label creates the index of the label. The index stays while records
 * have the label. Without an index, the store keeps only the keys of the records with the label. The total cost depends
 * only on the number of writes.
 */
export class LabelIndexes {
  readonly #labels = new Map<string, Set<string> | RecordIndex>();

  get size(): number {
    return this.#labels.size;
  }

  set(key: string, record: StoredRecord, previous: StoredRecord | undefined): void {
    const labels = record.labels ?? NONE;
    for (const label of Object.keys(labels)) {
      const carriers = this.#labels.get(label);
      if (carriers === undefined) this.#labels.set(label, new Set([key]));
      else if (carriers instanceof Set) carriers.add(key);
      else carriers.set(key, record, previous);
    }
    for (const label of Object.keys(previous?.labels ?? NONE)) {
      if (previous !== undefined && !Object.hasOwn(labels, label)) this.#leave(label, key, previous);
    }
  }

  delete(key: string, record: StoredRecord): void {
    for (const label of Object.keys(record.labels ?? NONE)) this.#leave(label, key, record);
  }

  /** @param recordOf returns the record of a key; called once for each record */
  index(label: string, recordOf: (key: string) => StoredRecord | undefined): RecordIndex {
    const carriers = this.#labels.get(label);
    if (carriers instanceof RecordIndex) return carriers;
    const index = new RecordIndex(`${LABEL}${label}`);
    // If no record has the label any more, the store removes the index of the label.
    if (carriers === undefined) return index;
    for (const key of carriers) {
      const record = recordOf(key);
      if (record !== undefined) index.set(key, record, undefined);
    }
    this.#labels.set(label, index);
    return index;
  }

  #leave(label: string, key: string, record: StoredRecord): void {
    const carriers = this.#labels.get(label);
    if (carriers instanceof Set) carriers.delete(key);
    else carriers?.delete(key, record);
    if (carriers?.size === 0) this.#labels.delete(label);
  }
}
