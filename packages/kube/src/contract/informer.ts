import type { KubeError } from './errors.ts';
import type { Key, KubeObject } from './objects.ts';

/** A change of one object in a cache. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: Key; readonly object: T }
  | { readonly type: 'updated'; readonly key: Key; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly key: Key; readonly object: T };

/** What a reconcile reads. Objects are shared and must not be mutated (deeply frozen in tests). */
export interface Store<T> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /** Objects whose index function `index` yielded `value`. Cost: the number of objects returned. */
  byIndex(index: string, value: string): readonly T[];
  /** How many `byIndex` would return. Cost: none of their number. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/** A live copy of one kind: paged list, then watch with bookmarks; relists and diffs on 410; recovers by itself for ever. */
export interface Informer<T extends KubeObject> {
  /** Plural name of the kind. */
  readonly resource: string;
  readonly store: Store<T>;
  /** True after the first complete list. */
  readonly synced: boolean;
  /** Resolves when `synced` becomes true; rejects when the signal aborts. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * Why the API server refuses the kind now: permission is missing (403), or there is no such kind (404). Undefined: no
   * refusal is known. The cached objects are as old as the refusal. The informer tries again and again.
   */
  readonly refused: KubeError | undefined;
  /** Calls back when it is refused, for another reason, and no longer. */
  onRefused(handler: () => void): () => void;
  /**
   * Whether the cached objects may be of a history that never happened. The server went back to an older state, as after
   * the restore of a backup, and no complete list has followed.
   */
  readonly doubted: boolean;
  /**
   * Whether the server is known to continue from the cached state. False from a lost connection until the server has
   * shown its version again, and while the cache is `doubted`. Actions that cannot be undone wait until it is true.
   */
  readonly proven: boolean;
  /** Calls back when the doubt begins and when it ends. */
  onDoubt(handler: () => void): () => void;
  /** Calls back after each change, in order, synchronously with the store's update. Objects already there are replayed as `added`. */
  onChange(handler: (change: Change<T>) => void): () => void;
  /** Lists and watches until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** In place of `run`, for a caller that reads once: lists and does not watch. Rejects with the server's error. */
  readOnce(signal: AbortSignal): Promise<void>;
  /**
   * Puts the answer of our own write into the cache at once, so that the next reconcile reads its own writes.
   * Ignored when the watch has already reported an equal or newer version (resourceVersions are compared as integers).
   * Handlers are called at once, and not a second time for the watch event. The cache owns the object from now on.
   */
  recordWrite(object: T): void;
  /** Milliseconds since the server was last heard of (event, bookmark or list). */
  silentForMs(): number;
  /** Milliseconds for which the cache has had no open watch; 0 while a watch is open, and before the first one. */
  behindForMs(): number;
  /** How many objects are kept that are not of their type; the cache shows them repaired (see `faultsOf`). */
  readonly malformed: number;
}

/** What an informer is made of, and which objects it keeps. */
export interface InformerOptions<T extends KubeObject> {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Keeps only what is needed of each object, before it is stored: the memory of a cache is decided here. */
  readonly project?: (object: T) => T;
  /** Index name → values of an object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Page size of lists; default 500. */
  readonly pageSize?: number;
  /**
   * The longest time without data in an open watch, in milliseconds; default 90,000. Then the informer opens it again.
   * The server sends a bookmark every minute.
   */
  readonly silenceLimitMs?: number;
  /** Called each time that the API server does not allow a list or a watch; undefined when a watch is open. */
  readonly onAccess?: (refused: KubeError | undefined) => void;
}
