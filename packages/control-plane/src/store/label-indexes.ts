import { LABEL } from './demand.ts';
import { RecordIndex } from './record-index.ts';
import type { StoredRecord } from './store.ts';

const NONE: Readonly<Record<string, string>> = {};

/**
 * Who carries which label. Of a label that nobody has selected by, only the keys of its carriers are kept; the first selection makes their
 * index of them, and of nothing else. It is kept as long as anybody carries the label: every carrier is taken up once, so that what all
 * indexes together have cost is what has been written, whatever labels are asked for in turn. A write touches its own labels alone.
 */
export class LabelIndexes {
  readonly #labels = new Map<string, Set<string> | RecordIndex>();

  /** Labels that are carried. */
  get size(): number {
    return this.#labels.size;
  }

  /** Takes up a record in the place of its previous state. */
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

  /** The index of a label. `recordOf`: the record that a key stands for, asked for each carrier once. */
  index(label: string, recordOf: (key: string) => StoredRecord | undefined): RecordIndex {
    const carriers = this.#labels.get(label);
    if (carriers instanceof RecordIndex) return carriers;
    const index = new RecordIndex(`${LABEL}${label}`);
    // No record has the label, so there is nothing to keep.
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
