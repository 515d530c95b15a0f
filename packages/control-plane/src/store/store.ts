import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { StoredRecord } from './record.ts';
import type { Words } from './word-index.ts';

/** The store calls `render` once with the new revision. */
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
  /** Changes are compacted by age, in milliseconds since the epoch. */
  readonly time: number;
  readonly record: StoredRecord;
  readonly previous: StoredRecord | undefined;
  /** The number of objects after the change, in the resource and in the namespace. */
  readonly population: { readonly all: number; readonly namespace: number };
}

export type StoreListener = (event: StoreEvent) => void;

/**
 * A page is sorted by the keys `namespace/name`. As in etcd, keys are compared by bytes: `a-b/x` comes before `a/x`.
 */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The number of records after this page. For a filtered list, the number is 1 if more records match. */
  readonly remaining: number;
}

export interface PageOptions {
  /** By default, the page contains records of all namespaces. */
  readonly namespace?: string | undefined;
  /** The store finds records that meet all requirements with an index. */
  readonly where?: readonly Demand[] | undefined;
  /**
   * The page contains only records for which this function is true. The function is not called for records after the
   * page.
   */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** The key after which the page starts. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /**
   * The number of records after `after`. If the number is given, the store does not count the records of an older
   * revision.
   */
  readonly left?: number | undefined;
  /** The revision of the page (default: the current state). Throws RangeError if the revision is compacted. */
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
  revision(): number;
  /** All changes up to this revision are durable and were delivered to the listeners. */
  deliveredRevision(): number;
  /** Returns the oldest revision after which all changes of this resource are available. */
  compactedRevision(resource: string): number;
  /** As after a compaction of etcd, the store refuses pages and replays from an older revision. */
  compact(): void;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /**
   * Returns the records with at least one of the words, in arbitrary order. The word index is created at its first use.
   */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Deletes an object. `render` returns the last state of the object, with the revision of the deletion. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /**
   * Resolves when all earlier writes are durable.
   * @throws StorageFullError if the disk is full. The writes have no
   * effect.
   */
  settled(): Promise<void>;
  /**
   * Returns the changes after `revision`, oldest first. The result is undefined if some changes are no longer
   * available. With requirements, the result contains at least the changes whose new or previous record meets the
   * requirements.
   */
  since(resource: string, revision: number, where?: readonly Demand[]): readonly StoreEvent[] | undefined;
  /**
   * Calls `listener` for every later change of the resource, in order. A change is reported after it is durable. With
   * requirements, `listener` gets at least the changes whose new or previous record meets the requirements. Returns a
   * function that removes the listener.
   */
  subscribe(resource: string, listener: StoreListener, where?: readonly Demand[]): () => void;
  close(): void;
  snapshot(): StoreSnapshot;
}

/** A backup of a store. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: readonly { readonly resource: string; readonly record: StoredRecord }[];
}

/**
 * The writes that failed because of a full disk had no effect. When the disk has space again, the store accepts writes.
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
