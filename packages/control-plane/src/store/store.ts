import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { StoredRecord } from './record.ts';
import type { Words } from './word-index.ts';

/** A record before its write. The store calls `render` once with the new revision. */
export interface RecordDraft {
  readonly namespace: string;
  readonly name: string;
  readonly render: (revision: number) => string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/**
 * A change of a record. `record` is the new record. For a deletion, `record` is the last record with the revision of
 * the deletion.
 */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly revision: number;
  /** The time of the change in milliseconds since the epoch. The store removes changes by their age. */
  readonly time: number;
  readonly record: StoredRecord;
  readonly previous: StoredRecord | undefined;
  /** The number of objects after the change: in the resource, and in the namespace. */
  readonly population: { readonly all: number; readonly namespace: number };
}

export type StoreListener = (event: StoreEvent) => void;

/**
 * A page of records, sorted by the keys `namespace/name`. As in etcd, the order of keys is the order of their bytes:
 * `a-b/x` comes before `a/x`.
 */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The number of records after this page. For a filtered list, the number is 1 if more records match. */
  readonly remaining: number;
}

export interface PageOptions {
  /** The namespace of the records (default: all namespaces). */
  readonly namespace?: string | undefined;
  /** The requirements that the records must meet. The store uses an index to find the records. */
  readonly where?: readonly Demand[] | undefined;
  /**
   * The page contains only records for which this function is true. The store does not call the function for records of
   * later pages.
   */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** The last key of the previous page. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /**
   * The number of records after the key `after`. If the number is known, the store need not count the records of an
   * older revision.
   */
  readonly left?: number | undefined;
  /** The revision of the records (default: the current revision). Throws RangeError if the revision was compacted. */
  readonly revision?: number | undefined;
}

/**
 * Stores objects. Writes take effect immediately, in their order. A read and a later write are one transaction if there
 * is no `await` between them. `settled()` resolves when the writes are durable and delivered to the listeners. All
 * resources share one counter of revisions, which never decreases.
 *
 * The name of a resource is `group/plural`.
 */
export interface Store {
  /** The time in milliseconds for which changes stay available. */
  readonly historyMs: number;
  revision(): number;
  /** Returns the revision up to which all changes are durable and were delivered to the listeners. */
  deliveredRevision(): number;
  /** Returns the oldest revision after which all changes of this resource are available. */
  compactedRevision(resource: string): number;
  /**
   * Removes all earlier changes. As after a compaction of etcd, the store then refuses pages and replays from older
   * revisions.
   */
  compact(): void;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /**
   * Returns the records with at least one of the words, in no specific order. The first search creates the word index.
   */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Deletes an object. `render` returns the last text of the object, with the revision of the deletion. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /**
   * Resolves when all earlier writes are durable.
   * @throws StorageFullError if the disk is full. The failed writes then have no effect
   */
  settled(): Promise<void>;
  /**
   * Returns the changes after `revision`, the oldest first. If the store has already discarded some of these changes,
   * the function returns undefined. With requirements, the result contains at least each change whose new or previous
   * record meets them.
   */
  since(resource: string, revision: number, where?: readonly Demand[]): readonly StoreEvent[] | undefined;
  /**
   * Calls `listener` for each later change of the resource, in order. The store reports a change after the change is
   * durable. With requirements, `listener` gets at least each change whose new or previous record meets them. Returns a
   * function that removes the listener.
   */
  subscribe(resource: string, listener: StoreListener, where?: readonly Demand[]): () => void;
  close(): void;
  snapshot(): StoreSnapshot;
}

/** A backup of a store, with all records and the revision. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: readonly { readonly resource: string; readonly record: StoredRecord }[];
}

/**
 * The error if the disk was full, so that the writes had no effect. When the disk has space again, the store accepts
 * writes again.
 */
export class StorageFullError extends StatusError {
  constructor(reason: string) {
    super({
      message: `the storage of this server is full, so the server stored no change: ${reason}`,
      reason: 'InternalError',
      details: { retryAfterSeconds: RETRY_WHEN_FULL_SECONDS },
      code: 507,
    });
  }
}

const RETRY_WHEN_FULL_SECONDS = 5;
