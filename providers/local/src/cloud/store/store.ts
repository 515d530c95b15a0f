/** A stored object: its kind, its ID and its JSON. */
export interface StoredRow {
  readonly kind: string;
  readonly id: string;
  readonly body: unknown;
}

/** When a method returns, the change is permanent. */
export interface CloudStore {
  load(): Iterable<StoredRow>;
  put(kind: string, id: string, body: object): void;
  remove(kind: string, id: string): void;
  /** If `work` throws an error, the store discards all of its changes. */
  atomically(work: () => void): void;
  close(): void;
}

/** The store cannot be used. The message is one sentence for the user. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
