import type { Draft, KubeObject, ResourceDefinition } from './objects.ts';
import type { ServerHistory } from './server-history.ts';

/** A change to send with PATCH. */
export type Patch =
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'json'; readonly body: readonly object[] }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'apply'; readonly body: object; readonly fieldManager: string; readonly force?: boolean };

/** What any request may say next to its object. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /**
   * Whether a 429 or 503 that says when to come back is waited for (default) or thrown at once, with `retryAfterMs`.
   * `createSubresource` of an `eviction` always throws: a drain has better things to do than to hold a worker.
   */
  readonly onRetryAfter?: 'wait' | 'throw';
}

/** Which objects are listed, and from which state. */
export interface ListOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

/** How each item of a list is taken in: what it returns is kept in its place. Called as the items arrive. */
export interface ItemOptions<T> {
  readonly each?: (item: T) => T;
}

/** Which objects are watched, and from which state on. */
export interface WatchOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  /** How long the server may keep the watch open, in seconds. */
  readonly timeoutSeconds?: number;
  /** Called when the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

/** Under which conditions an object is deleted, and what becomes of what it owns. */
export interface DeleteOptions extends RequestOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** How a write is done: dry run, field manager, subresource. */
export interface WriteOptions extends RequestOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** `status`, `scale`, …; absent: the main resource. */
  readonly subresource?: string;
}

/** A list as the API server gives it, with the state that it shows. */
export interface List<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: T[];
}

/** One event of a watch. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | {
      readonly type: 'BOOKMARK';
      readonly object: {
        readonly metadata: { readonly resourceVersion: string; readonly annotations?: Record<string, string> };
      };
    };

/** Reads of one kind. Every method throws `KubeError`. */
export interface ResourceReader<T extends KubeObject> {
  get(name: string, options?: RequestOptions): Promise<T>;
  /** With `each`, a page is taken in item by item, and never in memory as a whole: for big objects of which little is kept. */
  list(options?: ListOptions & ItemOptions<T>): Promise<List<T>>;
  /** Yields events until the server closes the stream, the signal aborts (throws its reason), or an ERROR event arrives (throws `KubeError`, 410 among them). */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

/** Writes of one kind. Every method throws `KubeError`; none retries by itself but on 429/503 with Retry-After. */
export interface ResourceWriter<T extends KubeObject> {
  create(object: Draft<T>, options?: WriteOptions): Promise<T>;
  /** PUT: refused with a conflict when `metadata.resourceVersion` is not the newest. */
  update(object: T, options?: WriteOptions): Promise<T>;
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Resolves to the object when it lingers (finalizers, grace period) and to undefined when it is gone. */
  delete(name: string, options?: DeleteOptions): Promise<T | undefined>;
  deleteCollection(options?: ListOptions & DeleteOptions): Promise<void>;
  /** POST to a subresource, e.g. `eviction`, `binding`, `token`. */
  createSubresource<R = unknown>(name: string, subresource: string, body: object, options?: RequestOptions): Promise<R>;
}

/** Reads and writes objects of one kind. */
export interface ResourceClient<T extends KubeObject> extends ResourceReader<T>, ResourceWriter<T> {}

/** One API server as one identity. */
export interface KubeClient {
  /** Whether the states of the server follow each other; one for all clients of a server in a process, where its maker says so. */
  readonly history: ServerHistory;
  /** For a namespaced kind without a namespace: reads span all namespaces, writes need the object's own. */
  resource<T extends KubeObject>(definition: ResourceDefinition<T>, namespace?: string): ResourceClient<T>;
  /** Any other request; the answer's JSON. */
  request<R>(
    method: string,
    path: string,
    options?: RequestOptions & { readonly body?: object; readonly contentType?: string },
  ): Promise<R>;
}
