import type { KubeError } from './errors.ts';
import type { Key, KubeObject } from './objects.ts';

/** A change of one object in a cache. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: Key; readonly object: T }
  | { readonly type: 'updated'; readonly key: Key; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly key: Key; readonly object: T };

/**
 * The cache that a reconcile reads. All callers share the cached objects and must not change them. Tests freeze the
 * objects.
 */
export interface Store<T> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /**
   * Returns the objects for which the index function `index` returned `value`. The cost is proportional to the number
   * of objects.
   */
  byIndex(index: string, value: string): readonly T[];
  /** Returns the number of objects that `byIndex` returns, at a constant cost. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/**
 * A cache for one kind. The informer lists the objects in pages, and then watches their changes with bookmarks. After a
 * 410, the informer lists the objects again and applies the difference. The number of retries is unlimited.
 */
export interface Informer<T extends KubeObject> {
  /** The plural name of the kind. */
  readonly resource: string;
  readonly store: Store<T>;
  readonly synced: boolean;
  /**
   * Whether an informer with the option `demand` is closed, because no user needs it. A closed informer has no objects.
   */
  readonly closed?: boolean;
  /** Rejects if the signal aborts before the first complete list. For a closed informer, the promise resolves at once. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * The reason why the API server currently refuses lists and watches: a missing permission (403), or a missing kind
   * (404). During a refusal, the cached objects are not updated, and the informer continues to retry.
   */
  readonly refused: KubeError | undefined;
  /** Calls `handler` when a refusal starts, when its reason changes, and when the refusal ends. */
  onRefused(handler: () => void): () => void;
  /**
   * Whether the cached objects may be newer than the API server, because a backup was restored and the list after the
   * restore is not complete.
   */
  readonly doubted: boolean;
  /**
   * Whether a response of the API server has proven that the API server is not older than the cache. A lost connection
   * sets `proven` to false. Controllers start no irreversible action before `proven` is true.
   */
  readonly proven: boolean;
  onDoubt(handler: () => void): () => void;
  /**
   * Calls `handler` after each change, in order and synchronously with the update of the store. When a handler is
   * registered, the informer calls it with `added` for each cached object.
   */
  onChange(handler: (change: Change<T>) => void): () => void;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Fills the cache with one list and no watch, for callers that do not call `run`. If the list fails, the promise
   * rejects.
   */
  readOnce(signal: AbortSignal): Promise<void>;
  /**
   * Adds the response to a write of this process to the cache, so that the next reconcile sees the write.
   * - The cache ignores the response if the watch has already reported an equal or newer version.
   * - Handlers get the change once, when the response arrives. The later watch event causes no second call.
   * - After the call, the caller must not change the object, because it belongs to the cache.
   */
  recordWrite(object: T): void;
  /** Returns the milliseconds since the last event, bookmark or list. */
  sinceDataMs(): number;
  /**
   * Returns the milliseconds for which no watch has been open. The result is 0 while a watch is open, and before the
   * first watch.
   */
  behindForMs(): number;
  /**
   * Number of cached objects that do not conform to their type. The cache contains repaired copies of these objects
   * (see `faultsOf`).
   */
  readonly malformed: number;
}

export interface DemandMember {
  readonly synced: boolean;
  readonly refused: KubeError | undefined;
}

export interface InformerDemand {
  readonly open: boolean;
  add(member: DemandMember): void;
  /** Called by each informer when its cache is complete, and when the API server refuses its kind. */
  progressed(): void;
  /**
   * Waits until the informers open. The promise resolves to a signal that aborts when the informers close, or to
   * undefined if `signal` aborts first.
   */
  opened(signal: AbortSignal): Promise<AbortSignal | undefined>;
}

/** The options of an informer, such as the selection of its objects. */
export interface InformerOptions<T extends KubeObject> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * Removes the fields of an object that the controllers do not need. The cache stores the result, so its size
   * determines the memory of the cache.
   */
  readonly project?: (object: T) => T;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
  /** The maximum number of objects in one page of a list (default: 500). */
  readonly pageSize?: number;
  /**
   * If an open watch receives no data for this time, the informer opens the watch again. The default is 90,000
   * milliseconds, because the API server sends a bookmark every minute.
   */
  readonly dataTimeoutMs?: number;
  /**
   * Called with the error each time the API server refuses a list or a watch. When a watch opens, `onAccess` is called
   * with undefined.
   */
  readonly onAccess?: (refused: KubeError | undefined) => void;
  readonly demand?: InformerDemand | undefined;
}
