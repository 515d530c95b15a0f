import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { StoredRecord } from './record.ts';
import type { Words } from './word-index.ts';

/** A record before its revision is known: `render` is called once with it. */
export interface RecordDraft {
  readonly namespace: string;
  readonly name: string;
  readonly render: (revision: number) => string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** A change. `record` is the new state, or for a deletion the last state, with the revision of the deletion. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly revision: number;
  /** Milliseconds since the epoch, for compaction by age. */
  readonly time: number;
  readonly record: StoredRecord;
  readonly previous: StoredRecord | undefined;
  /** The number of objects after the change, in the resource and in the namespace. */
  readonly population: { readonly all: number; readonly namespace: number };
}

export type StoreListener = (event: StoreEvent) => void;

/** A page of records in the order of their keys, `namespace/name` byte by byte as etcd has them: `a-b/x` is before `a/x`. */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The number of records after this page. For a filtered list: 1 if there are any. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Only this namespace; absent: all. */
  readonly namespace?: string | undefined;
  /** Only records that meet all of these. They are found with an index. */
  readonly where?: readonly Demand[] | undefined;
  /** Only records that this function accepts. It is not called beyond the end of the page. */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** Start after this key. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /** The number of records after `after`, if the caller knows it. Then a page of an older revision needs no count. */
  readonly left?: number | undefined;
  /** The state at this revision; absent: now. Throws RangeError when it is compacted. */
  readonly revision?: number | undefined;
}

/**
 * The storage of objects. Writes are applied immediately and in order, so a read, a decision and a write without an `await` between them
 * are one transaction. When `settled()` resolves, they are durable and listeners have got them. All resources share one counter of
 * revisions, which never decreases, also not in a restart.
 *
 * A resource is named `group/plural`.
 */
export interface Store {
  /** How long changes are available, in milliseconds. */
  readonly historyMs: number;
  /** The revision of the last write. */
  revision(): number;
  /** The revision up to which every change is durable and was delivered to the listeners. */
  deliveredRevision(): number;
  /** The oldest revision after which all changes of this resource are available. */
  compactedRevision(resource: string): number;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /** The records with any of the words (see `Words`), unordered. The index is created at its first use. */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  /** Creates or replaces. */
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Removes an object; `render` returns its last state with the revision of the deletion. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /** Resolves when all earlier writes are durable. @throws StorageFullError if the disk is full; the writes did not happen */
  settled(): Promise<void>;
  /**
   * Changes after `revision`, oldest first; undefined when they are no longer known. With demands: all whose record or previous
   * record meets them, and few others.
   */
  since(resource: string, revision: number, where?: readonly Demand[]): readonly StoreEvent[] | undefined;
  /**
   * Calls `listener` for every later change of the resource, in order, once it is durable. With demands: for every one whose
   * record or previous record may meet them, and for few others. Returns the way out.
   */
  subscribe(resource: string, listener: StoreListener, where?: readonly Demand[]): () => void;
  close(): void;
  /** All objects and the current revision. */
  snapshot(): StoreSnapshot;
}

/** A backup of a store. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: readonly { readonly resource: string; readonly record: StoredRecord }[];
}

/** The disk is full, so none of these writes happened. Later writes are accepted when there is space. */
export class StorageFullError extends StatusError {
  constructor(reason: string) {
    super({
      message: `the storage of this server is full, so nothing was stored: ${reason}`,
      reason: 'InternalError',
      details: { retryAfterSeconds: RETRY_WHEN_FULL_SECONDS },
      code: 507,
    });
  }
}

const RETRY_WHEN_FULL_SECONDS = 5;
