import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { StoredRecord } from './record.ts';
import type { Words } from './word-index.ts';

/** A record without a revision. The store calls `render` once with the new revision. */
export interface RecordDraft {
  readonly namespace: string;
  readonly name: string;
  readonly render: (revision: number) => string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** A change. `record` is the new state, or the last state with the revision of the deletion. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly revision: number;
  /** Milliseconds since the epoch. Changes are compacted by age. */
  readonly time: number;
  readonly record: StoredRecord;
  readonly previous: StoredRecord | undefined;
  /** The number of objects after the change, in the resource and in the namespace. */
  readonly population: { readonly all: number; readonly namespace: number };
}

export type StoreListener = (event: StoreEvent) => void;

/**
 * A page of records, sorted by their keys `namespace/name`. As in etcd, keys are compared by bytes: `a-b/x` comes
 * before `a/x`.
 */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The number of records after this page. For a filtered list, the number is 1 if more records match. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Returns only records in this namespace. If `namespace` is absent, returns records of all namespaces. */
  readonly namespace?: string | undefined;
  /** Returns only records that meet all these requirements. The store finds these records with an index. */
  readonly where?: readonly Demand[] | undefined;
  /** Returns only records for which this function is true. The function is not called for records after the page. */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** The key after which the page starts. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /**
   * The number of records after `after`, if the caller has this number. With this number, the store does not count the
   * records of an older revision.
   */
  readonly left?: number | undefined;
  /**
   * The revision whose state the page contains. If `revision` is absent, the page contains the current state. Throws
   * RangeError if the revision is compacted.
   */
  readonly revision?: number | undefined;
}

/**
 * Stores objects. A write takes effect immediately and in order. A read and a later write are one transaction if there
 * is no `await` between them. `settled()` resolves when the writes are durable and delivered to the listeners. All
 * resources share one counter of revisions, which never decreases.
 *
 * The name of a resource is `group/plural`.
 */
export interface Store {
  /** The time for which changes are available, in milliseconds. */
  readonly historyMs: number;
  /** Returns the revision of the last write. */
  revision(): number;
  /** Returns the revision up to which all changes are durable and were delivered to the listeners. */
  deliveredRevision(): number;
  /** Returns the oldest revision after which all changes of this resource are available. */
  compactedRevision(resource: string): number;
  /**
   * Removes all earlier changes, like a compaction of etcd. After the removal, the store refuses pages and replays from
   * an older revision.
   */
  compact(): void;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /**
   * Returns the records with at least one of the words (see `Words`), in arbitrary order. The word index is created at
   * its first use.
   */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  /** Creates or replaces an object. */
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Deletes an object. `render` returns the last state of the object, with the revision of the deletion. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /**
   * Resolves when all earlier writes are durable. @throws StorageFullError if the disk is full. In this case, the
   * writes have no effect
   */
  settled(): Promise<void>;
  /**
   * Returns the changes after `revision`, oldest first. The result is undefined if some changes are no longer
   * available. With requirements, the result contains at least the changes whose new or previous record meets the
   * requirements.
   */
  since(resource: string, revision: number, where?: readonly Demand[]): readonly StoreEvent[] | undefined;
  /**
   * Calls `listener` for every later change of the resource, in order. Each call follows after the change is durable.
   * With requirements, `listener` gets at least the changes whose new or previous record meets the requirements.
   * Returns a function that removes the listener.
   */
  subscribe(resource: string, listener: StoreListener, where?: readonly Demand[]): () => void;
  close(): void;
  /** Returns all objects and the current revision. */
  snapshot(): StoreSnapshot;
}

/** A backup of a store. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: readonly { readonly resource: string; readonly record: StoredRecord }[];
}

/** The error for a full disk. The writes had no effect. When the disk has space again, the store accepts writes. */
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
