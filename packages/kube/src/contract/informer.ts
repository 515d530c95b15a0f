import type { KubeError } from './errors.ts';
import type { Key, KubeObject } from './objects.ts';

/** A change of one object in a cache. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: Key; readonly object: T }
  | { readonly type: 'updated'; readonly key: Key; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly key: Key; readonly object: T };

/** The cache that a reconcile reads; all callers share the cached objects and must not change them. */
export interface Store<T> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /** Returns the objects for which the index function `index` returned `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** Returns the number of objects that `byIndex` returns, at a constant cost. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/** A cache for one kind. */
export interface Informer<T extends KubeObject> {
  readonly resource: string;
  readonly store: Store<T>;
  readonly synced: boolean;
  /** Whether an informer with the option `demand` is closed and empty, because no user needs its objects. */
  readonly closed?: boolean;
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * The reason why the API server currently refuses lists and watches: a missing permission (403) or a missing kind
   * (404).
   */
  readonly refused: KubeError | undefined;
  /** Calls `handler` when a refusal starts, when its reason changes, and when the refusal ends. */
  onRefused(handler: () => void): () => void;
  /** Whether the cached objects may be newer than the API server, because a backup was restored. */
  readonly doubted: boolean;
  /**
   * Whether the API server is known to be at least as new as the cache. Controllers start irreversible actions only if
   * `proven` is true.
   */
  readonly proven: boolean;
  onDoubt(handler: () => void): () => void;
  /** Calls `handler` after each change, in order and synchronously with the update of the store. */
  onChange(handler: (change: Change<T>) => void): () => void;
  run(signal: AbortSignal): Promise<void>;
  /** Fills the cache from one list, and opens no watch. Callers that do not call `run` use this method. */
  readOnce(signal: AbortSignal): Promise<void>;
  /**
   * Adds the response to a write of this process to the cache, so that the next reconcile sees the write.
   * - After `recordWrite`, the caller must not change the object, because it belongs to the cache.
   */
  recordWrite(object: T): void;
  /** Returns the milliseconds since the last event, bookmark or list. */
  sinceDataMs(): number;
  /** Returns the milliseconds for which no watch has been open. */
  behindForMs(): number;
  readonly malformed: number;
}

export interface DemandMember {
  readonly synced: boolean;
  readonly refused: KubeError | undefined;
}

export interface InformerDemand {
  readonly open: boolean;
  add(member: DemandMember): void;
  progressed(): void;
  /**
   * The promise resolves to a signal that aborts when the informers close, or to undefined if `signal` aborts first.
   */
  opened(signal: AbortSignal): Promise<AbortSignal | undefined>;
}

/** The options of an informer, such as the selection of its objects. */
export interface InformerOptions<T extends KubeObject> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Removes the fields of an object that the controllers do not need, to limit the memory of the cache. */
  readonly project?: (object: T) => T;
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
  /** The maximum number of objects in one page of a list (default: 500). */
  readonly pageSize?: number;
  /**
   * The informer opens the watch again if no data arrives for this time (default: 90,000 ms). The API server sends a
   * bookmark every minute.
   */
  readonly dataTimeoutMs?: number;
  /** Receives the error of each refused list or watch, and undefined when a watch opens. */
  readonly onAccess?: (refused: KubeError | undefined) => void;
  readonly demand?: InformerDemand | undefined;
}
