import type { KubeError } from './errors.ts';
import type { Key, KubeObject } from './objects.ts';

/** A change of one object in a cache. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: Key; readonly object: T }
  | { readonly type: 'updated'; readonly key: Key; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly key: Key; readonly object: T };

/** The cache that a reconcile reads. Callers share the objects and must not change them. Tests freeze the objects. */
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
 * A cache of one kind that follows the server: the informer lists the objects in pages, and then watches with
 * bookmarks. After a 410, an informer lists again and applies the difference. An informer retries without limit.
 */
export interface Informer<T extends KubeObject> {
  /** The plural name of the kind. */
  readonly resource: string;
  readonly store: Store<T>;
  readonly synced: boolean;
  /** Whether no user needs an informer with the option `demand`, so it has no objects. */
  readonly closed?: boolean;
  /** Rejects if the signal aborts before the first complete list. For a closed informer, the promise resolves at once. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * The reason why the API server refuses the kind now: a missing permission (403), or a missing kind (404). During a
   * refusal, the cached objects are not updated, and the informer keeps retrying.
   */
  readonly refused: KubeError | undefined;
  /** Calls `handler` when a refusal starts, when its reason changes, and when the refusal ends. */
  onRefused(handler: () => void): () => void;
  /**
   * Whether the cached objects may be newer than the server, because a backup was restored and no complete list
   * followed.
   */
  readonly doubted: boolean;
  /**
   * Whether a response has shown that the server is not older than the cache. A lost connection sets `proven` to false.
   * Controllers start no irreversible action before `proven` is true.
   */
  readonly proven: boolean;
  onDoubt(handler: () => void): () => void;
  /**
   * Calls `handler` after each change, in order and synchronously with the update of the store. At registration, the
   * informer calls `handler` with `added` for each cached object.
   */
  onChange(handler: (change: Change<T>) => void): () => void;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Lists once without a watch, for callers that do not call `run`. The promise rejects with the error of the server.
   */
  readOnce(signal: AbortSignal): Promise<void>;
  /**
   * Adds the response to a write of this process to the cache, so that the next reconcile sees this write.
   * - The cache ignores the response if the watch has already reported an equal or newer version.
   * - Handlers get the change once: from the response, and not from the later watch event.
   * - After the call, the caller must not change the object, because it belongs to the cache.
   */
  recordWrite(object: T): void;
  /** Milliseconds since the last event, bookmark or list. */
  sinceDataMs(): number;
  /** The milliseconds without an open watch, or 0 while a watch is open and before the first watch. */
  behindForMs(): number;
  /**
   * Number of cached objects that do not conform to their type. The number of objects with faults, of which the cache
   * contains repaired copies (see `faultsOf`).
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
  /** Each informer calls `progressed` when its cache is complete, and when the API server refuses its kind. */
  progressed(): void;
  /**
   * Waits until the informers open. The promise resolves to a signal that aborts when the informers close, or to
   * undefined if `signal` aborts first.
   */
  opened(signal: AbortSignal): Promise<AbortSignal | undefined>;
}

/** Options of an informer, and the selection of its objects. */
export interface InformerOptions<T extends KubeObject> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * Removes all fields of an object that are not needed, before the object is stored. The size of the result determines
   * the memory of the cache.
   */
  readonly project?: (object: T) => T;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
  /** The maximum number of objects in a page of a list, by default 500. */
  readonly pageSize?: number;
  /**
   * The time without data in an open watch after which the informer opens the watch again. The default is 90,000
   * milliseconds, because the server sends a bookmark every minute.
   */
  readonly dataTimeoutMs?: number;
  /**
   * Reports the error each time the API server refuses a list or a watch. When a watch is open, `onAccess` is called
   * with undefined.
   */
  readonly onAccess?: (refused: KubeError | undefined) => void;
  readonly demand?: InformerDemand | undefined;
}
