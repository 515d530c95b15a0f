import type { Draft, KubeObject, ResourceDefinition } from './objects.ts';
import type { ServerHistory } from './server-history.ts';

/** A change to send with PATCH. */
export type Patch =
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'json'; readonly body: readonly object[] }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'apply'; readonly body: object; readonly fieldManager: string; readonly force?: boolean };

/** Options of every request. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The reaction to a response 429 or 503 with Retry-After. Evictions always throw on Retry-After, because a wait would
   * block a worker of a drain.
   */
  readonly onRetryAfter?: 'wait' | 'throw';
  /**
   * Called before each attempt, after all waits of the client. If the promise of `beforeSend` rejects, the client sends
   * no request and throws a `KubeError`.
   */
  readonly beforeSend?: () => Promise<void>;
}

/** The selection of the objects in a list, and the resource version from which the API server reads them. */
export interface ListOptions extends RequestOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
}

/** Converts each item of a list when the item arrives. */
export interface ItemOptions<T> {
  readonly each?: (item: T) => T;
}

/** The selection of the objects of a watch, and the resource version from which the watch starts. */
export interface WatchOptions extends RequestOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
  readonly onOpen?: () => void;
}

/** Preconditions of a deletion, and the handling of dependent objects. */
export interface DeleteOptions extends RequestOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string | undefined };
}

/** Options of a write: dry run, field manager, subresource. */
export interface WriteOptions extends RequestOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** The subresource, such as `status` or `scale`. */
  readonly subresource?: string;
  /**
   * Marks a write that only records an earlier action of this process. Observe mode does not report the write as a
   * decision.
   */
  readonly bookkeeping?: boolean;
}

/** A list from the API server, with its resource version. */
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

/** Reads objects of one kind. */
export interface ResourceReader<T extends KubeObject> {
  get(name: string, options?: RequestOptions): Promise<T>;
  /** Lists objects. */
  list(options?: ListOptions & ItemOptions<T>): Promise<List<T>>;
  /**
   * Yields events until the server closes the stream.
   * @throws the reason of the signal when the signal aborts; `KubeError` after an ERROR event, for example 410
   */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

/** Writes objects of one kind; every method throws `KubeError`. */
export interface ResourceWriter<T extends KubeObject> {
  create(object: Draft<T>, options?: WriteOptions): Promise<T>;
  /** Replaces an object. */
  update(object: T, options?: WriteOptions): Promise<T>;
  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T>;
  /**
   * Resolves to the object if finalizers or a grace period delay its deletion, or to undefined if the object is gone.
   */
  delete(name: string, options?: DeleteOptions): Promise<T | undefined>;
  deleteCollection(options?: ListOptions & DeleteOptions): Promise<void>;
  createSubresource<R = unknown>(name: string, subresource: string, body: object, options?: RequestOptions): Promise<R>;
}

/** Reads and writes objects of one kind. */
export interface ResourceClient<T extends KubeObject> extends ResourceReader<T>, ResourceWriter<T> {}

/** A client for one API server and one identity. */
export interface KubeClient {
  /** The history of the API server, which detects that the API server was restored to an older state. */
  readonly history: ServerHistory;
  /** Returns a client for one kind. */
  resource<T extends KubeObject>(definition: ResourceDefinition<T>, namespace?: string): ResourceClient<T>;
  /** Sends a request to any path and returns the JSON of the response. */
  request<R>(
    method: string,
    path: string,
    options?: RequestOptions & { readonly body?: object; readonly contentType?: string },
  ): Promise<R>;
}
