import type { CloudStore, StoredRow } from './store.ts';

/** A store in memory. Several clouds can use one store object, one after the other. */
export class MemoryStore implements CloudStore {
  readonly #rows = new Map<string, { readonly kind: string; readonly id: string; readonly json: string }>();

  *load(): Iterable<StoredRow> {
    for (const { kind, id, json } of [...this.#rows.values()]) yield { kind, id, body: JSON.parse(json) };
  }

  put(kind: string, id: string, body: object): void {
    this.#rows.set(`${kind}/${id}`, { kind, id, json: JSON.stringify(body) });
  }

  remove(kind: string, id: string): void {
    this.#rows.delete(`${kind}/${id}`);
  }

  atomically(work: () => void): void {
    const before = new Map(this.#rows);
    try {
      work();
    } catch (error) {
      this.#rows.clear();
      for (const [key, row] of before) this.#rows.set(key, row);
      throw error;
    }
  }

  close(): void {
    // A store in memory has no file to close.
  }
}
