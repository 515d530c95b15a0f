import type { Store } from '../contract/informer.ts';
import type { Key } from '../contract/objects.ts';
import { faultsOf } from './faults.ts';
import { objectBytes } from './object-bytes.ts';

export type IndexFunction<T> = (object: T) => readonly string[];

const guarded =
  <T>(name: string, valuesOf: IndexFunction<T>, failed: IndexFailed<T>): IndexFunction<T> =>
  (object) => {
    try {
      return valuesOf(object);
    } catch (error) {
      failed(name, object, error);
      return [];
    }
  };

export type IndexFailed<T> = (index: string, object: T, error: unknown) => void;

export type Sized = (changeBytes: number) => void;

/** The estimated memory of a cache entry without its object, in bytes: the key and the index entries. */
const ENTRY_BYTES = 200;

class Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly #buckets = new Map<string, Map<Key, T>>();

  constructor(valuesOf: IndexFunction<T>) {
    this.valuesOf = valuesOf;
  }

  get(value: string): readonly T[] {
    const bucket = this.#buckets.get(value);
    return bucket === undefined ? [] : [...bucket.values()];
  }

  count(value: string): number {
    return this.#buckets.get(value)?.size ?? 0;
  }

  add(key: Key, object: T): void {
    for (const value of this.valuesOf(object)) {
      const bucket = this.#buckets.get(value);
      if (bucket === undefined) this.#buckets.set(value, new Map([[key, object]]));
      else bucket.set(key, object);
    }
  }

  remove(key: Key, object: T, next: T | undefined): void {
    const kept = next === undefined ? [] : this.valuesOf(next);
    for (const value of this.valuesOf(object)) {
      if (kept.includes(value)) continue;
      const bucket = this.#buckets.get(value);
      bucket?.delete(key);
      if (bucket?.size === 0) this.#buckets.delete(value);
    }
  }
}

export class Cache<T extends object> implements Store<T> {
  readonly #objects = new Map<Key, T>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;
  #list: readonly T[] | undefined;
  readonly #sized: Sized | undefined;

  #malformed = 0;

  constructor(
    indexes: Readonly<Record<string, IndexFunction<T>>> = {},
    failed: IndexFailed<T> = () => undefined,
    sized?: Sized,
  ) {
    this.#sized = sized;
    this.#indexes = new Map(
      Object.entries(indexes).map(([name, valuesOf]) => [name, new Index(guarded(name, valuesOf, failed))]),
    );
  }

  get malformed(): number {
    return this.#malformed;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: Key): T | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<Key> {
    return this.#objects.keys();
  }

  list(): readonly T[] {
    this.#list ??= [...this.#objects.values()];
    return this.#list;
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#index(index).get(value);
  }

  countByIndex(index: string, value: string): number {
    return this.#index(index).count(value);
  }

  #index(index: string): Index<T> {
    const found = this.#indexes.get(index);
    if (found === undefined) {
      throw new TypeError(
        `index "${index}" does not exist; existing indexes: ${[...this.#indexes.keys()].join(', ') || 'none'}`,
      );
    }
    return found;
  }

  set(key: Key, object: T): void {
    const old = this.#objects.get(key);
    for (const index of this.#indexes.values()) {
      if (old !== undefined) index.remove(key, old, object);
      index.add(key, object);
    }
    this.#count(old, -1);
    this.#count(object, 1);
    this.#objects.set(key, object);
    this.#list = undefined;
    this.#sized?.(objectBytes(object) - (old === undefined ? -ENTRY_BYTES : objectBytes(old)));
  }

  #count(object: T | undefined, by: 1 | -1): void {
    if (faultsOf(object).length > 0) this.#malformed += by;
  }

  delete(key: Key): void {
    const old = this.#objects.get(key);
    if (old === undefined) return;
    for (const index of this.#indexes.values()) index.remove(key, old, undefined);
    this.#count(old, -1);
    this.#objects.delete(key);
    this.#list = undefined;
    this.#sized?.(-ENTRY_BYTES - objectBytes(old));
  }
}
