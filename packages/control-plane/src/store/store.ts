import { StatusError } from '../apimachinery/objects/status.ts';
import type { Demand } from './demand.ts';
import type { Words } from './word-index.ts';

/**
 * What is kept of one object. The JSON text is the truth: reads and watches send it as it is, writers parse it (and so
 * get a copy of their own). Labels and selectable fields are held next to it, so that selecting costs no parsing.
 */
export interface StoredRecord {
  readonly namespace: string;
  readonly name: string;
  /** The revision of the write that made this record: the object's `metadata.resourceVersion`. */
  readonly revision: number;
  /** The whole object. It starts with `{"apiVersion":…,"kind":…,"metadata":{`, in this order. */
  readonly json: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
}

/** A record before its revision is known: `render` is called once with it. */
export interface RecordDraft {
  readonly namespace: string;
  readonly name: string;
  readonly render: (revision: number) => string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** One change. `record` is the new state; for a deletion the last state, under the deletion's own revision. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly revision: number;
  /** Milliseconds since the epoch, for compaction by age. */
  readonly time: number;
  readonly record: StoredRecord;
  readonly previous: StoredRecord | undefined;
  /** How many objects there were after the change, of the resource and of it in this namespace. */
  readonly population: { readonly all: number; readonly namespace: number };
}

export type StoreListener = (event: StoreEvent) => void;

/** A page of records in the order of their keys, `namespace/name` byte by byte as etcd has them: `a-b/x` is before `a/x`. */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** How many records come after this page. When not every record was meant: 1 if there are any. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Only this namespace; absent: all. */
  readonly namespace?: string | undefined;
  /** Only records that meet all of these: they are found, not searched for. */
  readonly where?: readonly Demand[] | undefined;
  /** Only records that this accepts. It is asked no further than the page goes. */
  readonly matches?: ((record: StoredRecord) => boolean) | undefined;
  /** Start after this key. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined;
  readonly limit?: number | undefined;
  /** How many there are after `after`, where the caller knows: then those of the past need not be counted. */
  readonly left?: number | undefined;
  /** The state as it was at this revision; absent: now. Throws RangeError when it is compacted. */
  readonly revision?: number | undefined;
}

/**
 * Where objects live. Writes are applied at once and in order, so that a read, a decision and a write without an `await` between
 * them are one transaction; they are durable, and seen by listeners, when `settled()` resolves. One counter of
 * revisions serves all resources and never goes back, not over restarts either.
 *
 * A resource is named `group/plural`.
 */
export interface Store {
  /** The revision of the last write. */
  revision(): number;
  /** The revision up to which every change is durable and known to the listeners. */
  deliveredRevision(): number;
  /** The oldest revision from which every later change of this resource is still known. */
  compactedRevision(resource: string): number;
  get(resource: string, namespace: string, name: string): StoredRecord | undefined;
  list(resource: string, options?: PageOptions): RecordPage;
  count(resource: string): number;
  /** The records under any of the words (see `Words`), in no order. The index is made when it is first asked. */
  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[];
  /** Creates or replaces. */
  put(resource: string, draft: RecordDraft): StoredRecord;
  /** Removes; `render` gives the last state under the deletion's revision. */
  delete(resource: string, draft: RecordDraft): StoredRecord;
  /** Resolves when every write so far is durable. @throws StorageFullError when there was no room: they have not happened */
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
  /** All objects and the revision at this moment. */
  snapshot(): StoreSnapshot;
}

/** A backup of a store. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: readonly { readonly resource: string; readonly record: StoredRecord }[];
}

/** Writes that there was no room for. None of them has happened; once there is room again, the next ones are taken. */
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
