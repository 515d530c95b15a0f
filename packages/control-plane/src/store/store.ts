import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { StoredRecord } from './record.ts';
import type { Words } from './word-index.ts';

/** A record whose revision is not known yet. `render` is called once with the revision. */
export interface RecordDraft {
  readonly namespace: string;
  readonly name: string;
  readonly render: (revision: number) => string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** A change. `record` is the new state. For a deletion, it is the last state, with the revision of the deletion. */
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
 * A page of records, in the order of their keys `namespace/name`. As in etcd, keys are compared by bytes: `a-b/x` comes
 * before `a/x`.
 */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The number of records after this page. For a filtered list: 1 if there are any. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Only records in this namespace; absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** Only records that meet all these requirements. An index finds them. */
  readonly where?: readonly Demand[] | undefined;
  /** Only records for which this function returns true. The function is not called for records after the page. */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** The page starts after this key. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /**
   * The number of records after `after`, if the caller knows it. With this number, the records of an older revision are not
   * counted.
   */
  readonly left?: number | undefined;
  /**
   * The page has the state at this revision; absent: the present state. Throws RangeError when the revision is compacted.
   */
  readonly revision?: number | undefined;
}

/**
 * Stores objects. A write takes effect immediately and in order. So a read, a decision and a write without an `await`
 * between them are one transaction. When `settled()` resolves, the writes are durable and were delivered to the listeners.
 * All resources have one counter of revisions. The counter never decreases, even after a restart.
 *
 * The name of a resource is `group/plural`.
 */
export interface Store {
  /** How long changes are available, in milliseconds. */
  readonly historyMs: number;
  /** The revision of the last write. */
  revision(): number;
  /** The revision up to which all changes are durable and were delivered to the listeners. */
  deliveredRevision(): number;
  /** The oldest revision after which all changes of this resource are available. */
  compactedRevision(resource: string): number;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /** The records with at least one of the words (see `Words`), in no order. The index is created at its first use. */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  /** Creates or replaces an object. */
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Deletes an object. `render` returns its last state, with the revision of the deletion. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /**
   * Resolves when all earlier writes are durable. @throws StorageFullError if the disk is full; then the writes have no
   * effect
   */
  settled(): Promise<void>;
  /**
   * The changes after `revision`, oldest first. Undefined if some are no longer available. With requirements, the result
   * has all changes whose new or previous record meets them, and few others.
   */
  since(resource: string, revision: number, where?: readonly Demand[]): readonly StoreEvent[] | undefined;
  /**
   * Calls `listener` for every later change of the resource, in order, after it is durable. With requirements, it is called
   * for all changes whose new or previous record may meet them, and for few others. Returns a function that removes the
   * listener.
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

/** The disk is full, so the writes had no effect. Later writes are accepted when there is space. */
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
