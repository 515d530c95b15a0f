import { piecesOf } from '../../apimachinery/http/in-process.ts';
import { type Clock, sleep } from '../../apimachinery/objects/clock.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type Api, ApiError, pathOf, type Resource, succeeded } from '../client/api.ts';
import { keyOf } from '../objects/keys.ts';
import type { Projection } from '../objects/projections.ts';

/** `old` is undefined for a new object. */
export interface Change {
  readonly type: 'added' | 'updated' | 'deleted';
  readonly object: ApiObject;
  readonly old: ApiObject | undefined;
}

export type ChangeHandler = (change: Change) => void;

interface ListAnswer {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion?: string };
  readonly items: ApiObject[];
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: ApiObject & { readonly code?: number };
}

/** The delay before the retry of a failed list or watch. */
const RETRY_MS = 1000;

const decoder = new TextDecoder();

/**
 * Lists the objects of one resource and then watches them. Handlers first get all existing objects, and then every
 * change.
 */
export class Informer {
  readonly resource: Resource;
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #objects = new Map<string, ApiObject>();
  readonly #handlers = new Set<ChangeHandler>();
  readonly #indexes: Index[] = [];
  readonly #project: Projection;
  #synced: Promise<void> | undefined;
  readonly #stopped = new AbortController();

  constructor(api: Api, clock: Clock, resource: Resource, project: Projection) {
    this.#api = api;
    this.#clock = clock;
    this.resource = resource;
    this.#project = project;
  }

  get(key: string): ApiObject | undefined {
    return this.#objects.get(key);
  }

  all(): IterableIterator<ApiObject> {
    return this.#objects.values();
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Calls `handler` for all existing objects and for every later change. Returns a function that ends the calls. */
  onChange(handler: ChangeHandler): () => void {
    this.#handlers.add(handler);
    for (const object of this.#objects.values()) handler({ type: 'added', object, old: undefined });
    return () => this.#handlers.delete(handler);
  }

  /**
   * Creates an index, and returns a function that finds the objects with an index key. For example, a node name finds
   * its pods.
   */
  index(of: (object: ApiObject) => readonly string[]): (word: string) => ApiObject[] {
    const index = { of, keys: new Map<string, Set<string>>() };
    for (const object of this.#objects.values()) enter(index, object);
    this.#indexes.push(index);
    return (word) => {
      const found: ApiObject[] = [];
      for (const key of index.keys.get(word) ?? []) {
        const object = this.#objects.get(key);
        if (object !== undefined) found.push(object);
      }
      return found;
    };
  }

  /** The promise resolves when the first list is in the cache. */
  start(signal: AbortSignal): Promise<void> {
    this.#synced ??= new Promise((resolve) => {
      void this.#run(AbortSignal.any([signal, this.#stopped.signal]), resolve);
    });
    return this.#synced;
  }

  /** Ends the watch permanently, for a resource that is no longer served. */
  stop(): void {
    this.#stopped.abort();
  }

  async #run(signal: AbortSignal, ready: () => void): Promise<void> {
    let version: string | undefined;
    while (!signal.aborted) {
      try {
        version ??= await this.#list();
        ready();
        version = await this.#watch(version, signal);
      } catch (error) {
        if (signal.aborted) break;
        // The code 410 means that the resourceVersion is too old. A new list is correct after any other error too.
        version = undefined;
        if (!(error instanceof ApiError && error.code === 410)) await sleep(this.#clock, RETRY_MS, signal);
      }
    }
    ready();
  }

  async #list(): Promise<string> {
    const answer = await this.#api.call<ListAnswer>(pathOf(this.resource));
    const seen = new Set<string>();
    const { apiVersion } = answer;
    const kind = answer.kind.replace(/List$/, '');
    for (const listed of answer.items) {
      const item = { ...listed, apiVersion, kind };
      seen.add(keyOf(item));
      this.#put(item);
    }
    for (const [key, object] of this.#objects) if (!seen.has(key)) this.#remove(key, object);
    return answer.metadata.resourceVersion ?? '0';
  }

  /** Returns the resourceVersion at which the next watch starts. */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    // Bookmarks would wake about sixty watches every minute, so the watch requests no bookmarks. A watch without
    // bookmarks may need a new list, which is cheap within one process.
    const path = `${pathOf(this.resource)}?watch=true&resourceVersion=${from}`;
    const response = await this.#api.send(path, 'GET', undefined, undefined, signal);
    if (!succeeded(response)) throw new ApiError(response.status, {});
    let version = from;
    for await (const piece of piecesOf(response, signal)) {
      const event = parseJson(decoder.decode(piece)) as WatchEvent;
      if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, event.object as object);
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type === 'DELETED') this.#remove(keyOf(event.object), event.object);
      else if (event.type !== 'BOOKMARK') this.#put(event.object);
    }
    return version;
  }

  #put(item: ApiObject): void {
    const key = keyOf(item);
    const old = this.#objects.get(key);
    if (old !== undefined && old.metadata.resourceVersion === item.metadata.resourceVersion) return;
    const object = this.#project(item);
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) this.#remove(key, old);
    const before = this.#objects.get(key);
    if (before !== undefined) for (const index of this.#indexes) leave(index, before);
    this.#objects.set(key, object);
    for (const index of this.#indexes) enter(index, object);
    this.#tell({ type: before === undefined ? 'added' : 'updated', object, old: before });
  }

  #remove(key: string, last: ApiObject): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    for (const index of this.#indexes) leave(index, old);
    this.#objects.delete(key);
    this.#tell({ type: 'deleted', object: last === old ? old : this.#project(last), old });
  }

  #tell(change: Change): void {
    for (const handler of [...this.#handlers]) handler(change);
  }
}

type Index = { readonly of: (object: ApiObject) => readonly string[]; readonly keys: Map<string, Set<string>> };

function enter(index: Index, object: ApiObject): void {
  for (const word of index.of(object)) {
    const keys = index.keys.get(word);
    if (keys === undefined) index.keys.set(word, new Set([keyOf(object)]));
    else keys.add(keyOf(object));
  }
}

function leave(index: Index, object: ApiObject): void {
  for (const word of index.of(object)) {
    const keys = index.keys.get(word);
    keys?.delete(keyOf(object));
    if (keys?.size === 0) index.keys.delete(word);
  }
}
