import { piecesOf } from '../../apimachinery/http/in-process.ts';
import { type Clock, sleep } from '../../apimachinery/objects/clock.ts';
import { parseJson } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type Status, StatusError } from '../../apimachinery/objects/status.ts';
import { type Api, hasCode } from '../client/api.ts';
import { pathOf, type Resource } from '../client/resources.ts';
import { KeyIndex, type WordsOf } from '../objects/key-index.ts';
import { keyOf } from '../objects/keys.ts';
import type { Projection } from '../objects/projections.ts';

/** For a new object, `old` is undefined. */
export interface Change {
  readonly type: 'added' | 'updated' | 'deleted';
  readonly object: ApiObject;
  readonly old: ApiObject | undefined;
}

export type ChangeHandler = (change: Change) => void;

type List = Pick<ApiObject, 'apiVersion' | 'kind' | 'metadata'> & { readonly items: readonly ApiObject[] };

type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: ApiObject }
  | { readonly type: 'ERROR'; readonly object: Status };

const RETRY_MS = 1000;
const decoder = new TextDecoder();

/** Lists the objects of one resource and then watches them. */
export class Informer {
  /** Resolves when the cache contains the first list. */
  readonly synced: Promise<void>;
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #project: Projection;
  readonly #objects = new Map<string, ApiObject>();
  readonly #indexes: KeyIndex[] = [];
  readonly #finders = new Map<WordsOf, (word: string) => ApiObject[]>();
  readonly #handlers = new Set<ChangeHandler>();
  readonly #stopped = new AbortController();

  constructor(api: Api, clock: Clock, resource: Resource, project: Projection, signal: AbortSignal) {
    this.#api = api;
    this.#clock = clock;
    this.#path = pathOf(resource);
    this.#project = project;
    this.synced = new Promise((resolve) => {
      void this.#run(AbortSignal.any([signal, this.#stopped.signal]), resolve);
    });
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

  /** Calls `handler` for all existing objects and for every later change. */
  onChange(handler: ChangeHandler): () => void {
    this.#handlers.add(handler);
    for (const object of this.#objects.values()) handler({ type: 'added', object, old: undefined });
    return () => this.#handlers.delete(handler);
  }

  /**
   * Returns a function that finds the objects with an index key. All calls of `index` with the same function share one
   * index.
   */
  index(of: WordsOf): (word: string) => ApiObject[] {
    const known = this.#finders.get(of);
    if (known !== undefined) return known;
    const index = new KeyIndex(of);
    this.#indexes.push(index);
    for (const [key, object] of this.#objects) index.set(key, object, undefined);
    const find = (word: string): ApiObject[] =>
      Array.from(index.keys(word), (key) => this.#objects.get(key)).filter((object) => object !== undefined);
    this.#finders.set(of, find);
    return find;
  }

  /** Ends the watch permanently, because the server no longer serves the resource. */
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
        // The code 410 means that the resourceVersion is too old.
        version = undefined;
        if (!hasCode(error, 410)) await sleep(this.#clock, RETRY_MS, signal);
      }
    }
    ready();
  }

  async #list(): Promise<string> {
    const { apiVersion, kind, metadata, items } = await this.#api.call<List>(this.#path);
    for (const item of items) this.#put({ ...item, apiVersion, kind: kind.replace(/List$/, '') });
    const listed = new Set(items.map(keyOf));
    for (const [key, object] of this.#objects) if (!listed.has(key)) this.#remove(object);
    return metadata.resourceVersion ?? '0';
  }

  /** Returns the resourceVersion at which the next watch starts. */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    // The watch requests no bookmarks, because bookmarks would wake about sixty watches every minute. A watch without
    // bookmarks may need a new list, which is cheap within one process.
    const response = await this.#api.send(`${this.#path}?watch=true&resourceVersion=${from}`, { signal });
    let version = from;
    for await (const piece of piecesOf(response, signal)) {
      const event = parseJson(decoder.decode(piece)) as WatchEvent;
      if (event.type === 'ERROR') throw new StatusError({ code: 500, ...event.object });
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type === 'DELETED') this.#remove(this.#project(event.object));
      else this.#put(event.object);
    }
    return version;
  }

  #put(item: ApiObject): void {
    const key = keyOf(item);
    const known = this.#objects.get(key);
    if (known !== undefined && known.metadata.resourceVersion === item.metadata.resourceVersion) return;
    const isReplaced = known !== undefined && known.metadata.uid !== item.metadata.uid;
    if (isReplaced) this.#remove(known);
    const old = isReplaced ? undefined : known;
    const object = this.#project(item);
    this.#objects.set(key, object);
    this.#tell({ type: old === undefined ? 'added' : 'updated', object, old }, key);
  }

  #remove(object: ApiObject): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    this.#tell({ type: 'deleted', object, old }, key);
  }

  /** The indexes change before the handlers run, because the handlers read the indexes. */
  #tell(change: Change, key: string): void {
    const { type, object, old } = change;
    for (const index of this.#indexes) index.set(key, type === 'deleted' ? undefined : object, old);
    for (const handler of [...this.#handlers]) handler(change);
  }
}
