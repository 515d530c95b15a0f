/** One remembered object: its kind, its id, and its JSON. */
export interface StoredRow {
  readonly kind: string;
  readonly id: string;
  readonly body: unknown;
}

/** Storage of the state that must outlive the process. After the return of a method, its effect is permanent. */
export interface CloudStore {
  load(): Iterable<StoredRow>;
  put(kind: string, id: string, body: object): void;
  remove(kind: string, id: string): void;
  /** Everything that `work` puts and removes takes effect together, or none of it when it throws. */
  atomically(work: () => void): void;
  close(): void;
}

/** A store that cannot be used; the message is one sentence for the user. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
