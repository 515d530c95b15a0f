import type { StoredRecord } from './record.ts';

/** The definition of an index that finds records by words, such as the name of their node. */
export interface Words {
  /**
   * Returns the words of a record, as alternative sets. The index selects the set with the rarest words, and stores the
   * record only under the words of this set. The store calls the function once for each record. A record without a set
   * is not in the index.
   */
  readonly of: (record: StoredRecord) => readonly (readonly string[])[];
}

/** An index of records by words. A record may have several words, and each of them finds the record. */
export class WordIndex {
  readonly #words: Words;
  readonly #records = new Map<string, Set<StoredRecord>>();
  readonly #chosen = new Map<StoredRecord, readonly string[]>();

  constructor(words: Words) {
    this.#words = words;
  }

  set(record: StoredRecord, previous: StoredRecord | undefined): void {
    if (previous !== undefined) this.delete(previous);
    const share = (words: readonly string[]): number =>
      words.reduce((sum, word) => sum + (this.#records.get(word)?.size ?? 0), 0);
    const [first, ...others] = this.#words.of(record);
    if (first === undefined) return;
    const chosen = others.reduce((least, words) => (share(words) < share(least) ? words : least), first);
    this.#chosen.set(record, chosen);
    for (const word of chosen) {
      const records = this.#records.get(word);
      if (records === undefined) this.#records.set(word, new Set([record]));
      else records.add(record);
    }
  }

  delete(record: StoredRecord): void {
    for (const word of this.#chosen.get(record) ?? []) {
      const records = this.#records.get(word);
      records?.delete(record);
      if (records?.size === 0) this.#records.delete(word);
    }
    this.#chosen.delete(record);
  }

  find(words: Iterable<string>): readonly StoredRecord[] {
    const found = new Set<StoredRecord>();
    for (const word of words) for (const record of this.#records.get(word) ?? []) found.add(record);
    return [...found];
  }
}
