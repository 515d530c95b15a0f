import type { StoredRecord } from './record.ts';

/** How the records of a resource are found by words that are read out of them. */
export interface Words {
  /**
   * Sets of words; a record is found by every word of one set, and the index chooses which: the one that the fewest records
   * share. It is called once for each record. No set: it is never found.
   */
  readonly of: (record: StoredRecord) => readonly (readonly string[])[];
}

/** Records by words. Unlike a field, one record may have many words and be wanted under any of them. */
export class WordIndex {
  readonly #words: Words;
  readonly #records = new Map<string, Set<StoredRecord>>();
  readonly #chosen = new Map<StoredRecord, readonly string[]>();

  constructor(words: Words) {
    this.#words = words;
  }

  /** Takes up a record in the place of its previous state. */
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

  /** The records under any of the words, in no order. */
  find(words: Iterable<string>): readonly StoredRecord[] {
    const found = new Set<StoredRecord>();
    for (const word of words) for (const record of this.#records.get(word) ?? []) found.add(record);
    return [...found];
  }
}
