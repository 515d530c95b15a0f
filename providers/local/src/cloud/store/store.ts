/** A stored object with its kind, its ID and its content as JSON. */
export interface StoredRow {
  readonly kind: string;
  readonly id: string;
  readonly body: unknown;
}

/** The store of a cloud. A change is permanent when a method returns. */
export interface CloudStore {
  load(): Iterable<StoredRow>;
  put(kind: string, id: string, body: object): void;
  remove(kind: string, id: string): void;
  /** Runs several changes in one transaction. If `work` throws an error, all changes are discarded. */
  atomically(work: () => void): void;
  close(): void;
}

/** The error if the store cannot be used. The message is one sentence for the user. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
