import type { Change } from '../contract/informer.ts';
import { type Key, type KubeObject, keyOf } from '../contract/objects.ts';
import { versionNumber } from '../contract/versions.ts';
import { Cache, type IndexFailed, type IndexFunction, type Sized } from './cache.ts';

export interface ReplicaOptions<T extends KubeObject> {
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined;
  readonly indexFailed?: IndexFailed<T>;
  readonly sized?: Sized | undefined;
  readonly emit: (change: Change<T>) => void;
}

const isGoing = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  (object.metadata.finalizers ?? []).length === 0 &&
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0;

/**
 * Decides whether a list page, a watch event or the response to a write changes the cache; the larger resource version
 * wins.
 */
export class Replica<T extends KubeObject> {
  readonly cache: Cache<T>;
  readonly #emit: (change: Change<T>) => void;
  #reported = Number.NEGATIVE_INFINITY;
  readonly #gone = new Map<Key, number>();
  #changedAt = Number.NEGATIVE_INFINITY;
  #newest: T | undefined;

  constructor(options: ReplicaOptions<T>) {
    this.cache = new Cache(options.indexes, options.indexFailed, options.sized);
    this.#emit = options.emit;
  }

  /**
   * The object with the newest version. If the newest change was a deletion, or if the cache is empty, `newest` is
   * undefined.
   */
  get newest(): T | undefined {
    return this.#newest;
  }

  changed(object: T): void {
    const key = keyOf(object);
    const version = versionNumber(object.metadata.resourceVersion);
    this.#setReported(version);
    if (this.#isNewsOfTheDead(key, version)) return;
    const cached = this.cache.get(key);
    if (cached === undefined || !(versionNumber(cached.metadata.resourceVersion) >= version)) this.#put(key, object);
  }

  deleted(object: T): void {
    const key = keyOf(object);
    const version = versionNumber(object.metadata.resourceVersion);
    this.#setReported(version);
    const cached = this.cache.get(key);
    if (cached === undefined) return;
    const isSuccessor = cached.metadata.uid !== object.metadata.uid;
    if (isSuccessor && versionNumber(cached.metadata.resourceVersion) > version) return;
    this.#drop(key, isSuccessor ? cached : object);
  }

  reached(resourceVersion: string): void {
    this.#setReported(versionNumber(resourceVersion));
  }

  written(object: T): void {
    const key = keyOf(object);
    const version = versionNumber(object.metadata.resourceVersion);
    if (this.#reported >= version) return;
    const cached = this.cache.get(key);
    if (cached !== undefined && versionNumber(cached.metadata.resourceVersion) >= version) return;
    if (!isGoing(object)) {
      this.#put(key, object);
      return;
    }
    this.#gone.set(key, version);
    if (cached !== undefined) this.#drop(key, object);
  }

  clear(): void {
    for (const key of [...this.cache.keys()]) {
      const cached = this.cache.get(key);
      if (cached !== undefined) this.#drop(key, cached);
    }
    this.#gone.clear();
  }

  relist({ doubted = false, onRewound }: RelistOptions = {}): Relist<T> {
    const seen = new Set<Key>();
    let rewound = doubted;
    return {
      page: (objects, resourceVersion) => {
        const evidence = rewound ? undefined : this.#rollback(objects, versionNumber(resourceVersion));
        if (evidence !== undefined) {
          rewound = true;
          onRewound?.(evidence);
        }
        for (const object of objects) {
          seen.add(keyOf(object));
          this.#listed(object, rewound);
        }
      },
      end: (resourceVersion) => {
        const version = versionNumber(resourceVersion);
        for (const key of [...this.cache.keys()]) {
          if (!seen.has(key)) this.#missed(key, version, rewound);
        }
        if (rewound) this.#reported = Number.NEGATIVE_INFINITY;
        this.#gone.clear();
        this.#setReported(version);
        this.#changedAt = Number.NEGATIVE_INFINITY;
        this.#newest = undefined;
        for (const object of this.cache.list()) this.#noteChange(object, object);
      },
    };
  }

  /** Returns evidence of a restore: the page or one of its objects has an older version than the cache. */
  #rollback(objects: readonly T[], listed: number): string | undefined {
    if (listed < this.#reported)
      return `a list has version ${listed}, which is older than the known version ${this.#reported}`;
    for (const object of objects) {
      const known = versionNumber(this.cache.get(keyOf(object))?.metadata.resourceVersion ?? '');
      if (known <= listed && versionNumber(object.metadata.resourceVersion) < known)
        return `${keyOf(object)} has version ${object.metadata.resourceVersion}, which is older than the known version ${known}`;
    }
    return undefined;
  }

  #listed(object: T, rewound: boolean): void {
    const key = keyOf(object);
    const cached = this.cache.get(key);
    const version = versionNumber(object.metadata.resourceVersion);
    if (cached === undefined) {
      if (rewound || !this.#isNewsOfTheDead(key, version)) this.#put(key, object);
      return;
    }
    const known = versionNumber(cached.metadata.resourceVersion);
    const same = cached.metadata.uid === object.metadata.uid && known === version;
    if (rewound ? !same : !(known >= version)) this.#put(key, object);
  }

  #missed(key: Key, version: number, rewound: boolean): void {
    const cached = this.cache.get(key);
    if (cached === undefined) return;
    if (!rewound && versionNumber(cached.metadata.resourceVersion) > version) return;
    this.#drop(key, cached);
  }

  #setReported(version: number): void {
    if (!(version > this.#reported)) return;
    this.#reported = version;
    for (const [key, gone] of this.#gone) {
      if (gone <= version) this.#gone.delete(key);
    }
  }

  #isNewsOfTheDead(key: Key, version: number): boolean {
    const gone = this.#gone.get(key);
    return gone !== undefined && version < gone;
  }

  #put(key: Key, object: T): void {
    const old = this.cache.get(key);
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) {
      this.#drop(key, old);
      this.#put(key, object);
      return;
    }
    this.cache.set(key, object);
    this.#noteChange(object, object);
    this.#emit(old === undefined ? { type: 'added', key, object } : { type: 'updated', key, object, old });
  }

  #drop(key: Key, object: T): void {
    this.cache.delete(key);
    this.#noteChange(object, undefined);
    if (this.#newest !== undefined && keyOf(this.#newest) === key) this.#newest = undefined;
    this.#emit({ type: 'deleted', key, object });
  }

  #noteChange({ metadata }: T, present: T | undefined): void {
    const version = versionNumber(metadata.resourceVersion);
    if (!(version > this.#changedAt)) return;
    this.#changedAt = version;
    this.#newest = present;
  }
}

export interface RelistOptions {
  readonly doubted?: boolean;
  readonly onRewound?: (evidence: string) => void;
}

export interface Relist<T> {
  page(objects: readonly T[], resourceVersion: string): void;
  end(resourceVersion: string): void;
}
