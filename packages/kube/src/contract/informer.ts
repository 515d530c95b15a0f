import type { KubeError } from './errors.ts';
import type { Key, KubeObject } from './objects.ts';

/** A change of one object in a cache. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: Key; readonly object: T }
  | { readonly type: 'updated'; readonly key: Key; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly key: Key; readonly object: T };

/** The cache that a reconcile reads. Objects are shared and must not be changed (deeply frozen in tests). */
export interface Store<T> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /** Objects for which the index function `index` returned `value`. The cost is proportional to the result. */
  byIndex(index: string, value: string): readonly T[];
  /** The number of objects that `byIndex` would return. The cost is constant. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/**
 * A live copy of one kind: paged list, then watch with bookmarks. It lists again after a 410 and applies the difference. It retries without limit.
 */
export interface Informer<T extends KubeObject> {
  /** Plural name of the kind. */
  readonly resource: string;
  readonly store: Store<T>;
  /** True after the first complete list. */
  readonly synced: boolean;
  /** Resolves when `synced` becomes true; rejects when the signal aborts. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * Why the API server refuses the kind now: permission is missing (403), or the kind does not exist (404). Undefined: it is not refused. The cached
   * objects are as old as the refusal. The informer keeps trying.
   */
  readonly refused: KubeError | undefined;
  /** Calls back when a refusal begins, changes its reason, or ends. */
  onRefused(handler: () => void): () => void;
  /**
   * Whether the cached objects may be newer than the state of the server. The server went back to an older state, for example after
   * the restore of a backup, and no complete list has followed.
   */
  readonly doubted: boolean;
  /**
   * Whether the server is known to continue from the cached state. False from a lost connection until the server has
   * shown its version again, and while the cache is `doubted`. Actions that cannot be undone wait until it is true.
   */
  readonly proven: boolean;
  /** Calls back when `doubted` changes. */
  onDoubt(handler: () => void): () => void;
  /** Calls back after each change, in order, synchronously with the update of the store. Existing objects are replayed as `added`. */
  onChange(handler: (change: Change<T>) => void): () => void;
  /** Lists and watches until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Lists once and does not watch, for callers that read only once. Use it instead of `run`. Rejects with the server's error. */
  readOnce(signal: AbortSignal): Promise<void>;
  /**
   * Puts the answer of our own write into the cache, so that the next reconcile reads its own writes.
   * - A write is ignored when the watch has already reported an equal or newer version. Versions are compared as integers.
   * - Handlers are called immediately, and not again for the watch event.
   * - The cache owns the object afterwards.
   */
  recordWrite(object: T): void;
  /** Milliseconds since the last data of the server (event, bookmark or list). */
  sinceDataMs(): number;
  /** Milliseconds without an open watch. 0 while a watch is open, and before the first watch. */
  behindForMs(): number;
  /** The number of cached objects that do not conform to their type. The cache shows them repaired (see `faultsOf`). */
  readonly malformed: number;
}

/** Options of an informer, and the selection of its objects. */
export interface InformerOptions<T extends KubeObject> {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Reduces each object to the needed fields before it is stored. This determines the memory of the cache. */
  readonly project?: (object: T) => T;
  /** Index name → values of an object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
  /** Page size of lists; default 500. */
  readonly pageSize?: number;
  /**
   * The longest time without data in an open watch, in milliseconds; default 90,000. Then the informer opens it again.
   * The server sends a bookmark every minute.
   */
  readonly dataTimeoutMs?: number;
  /** Called each time the API server refuses a list or a watch. Called with undefined when a watch is open. */
  readonly onAccess?: (refused: KubeError | undefined) => void;
}
