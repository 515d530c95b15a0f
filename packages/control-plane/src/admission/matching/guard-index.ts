import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import {
  type About,
  type Narrowing,
  type NarrowWords,
  narrowWordsFor,
  narrowWordsOf,
  resourceWordsFor,
  resourceWordsOf,
} from './guard-words.ts';
import { namespaceLabelsOf } from './match.ts';

/** A guard is a webhook, a policy or a binding. */
export interface Guard<T> {
  readonly item: T;
  readonly about: About;
  readonly owner?: string;
}

interface Entry<T> {
  readonly item: T;
  readonly name: string;
  readonly position: number;
  readonly buckets: readonly string[];
  readonly narrow: NarrowWords | undefined;
}

interface Bucket<T> {
  readonly every: Set<Entry<T>>;
  readonly narrowed: Readonly<Record<Narrowing, Map<string, Set<Entry<T>>>>>;
}

const emptyBucket = <T>(): Bucket<T> => ({
  every: new Set(),
  narrowed: { name: new Map(), namespace: new Map(), object: new Map() },
});

const inOrder = (a: Entry<unknown>, b: Entry<unknown>): number =>
  a.name < b.name ? -1 : a.name > b.name ? 1 : a.position - b.position;

const keyOf = (owner: string, word: string): string => `${owner}|${word}`;

/** A request reads only the index entries for its operation and resource. */
export class GuardIndex<T> {
  readonly #registry: Registry;
  readonly #make: (object: ApiObject) => readonly Guard<T>[];
  readonly #entries = new Map<string, readonly Entry<T>[]>();
  readonly #buckets = new Map<string, Bucket<T>>();
  readonly #shares = new Map<string, number>();

  /**
   * @param delayMs The delay after which the index contains a written object. In kube-apiserver, a background loop
   * reads policies, so a written policy takes effect later.
   */
  constructor(registry: Registry, resource: string, make: (object: ApiObject) => readonly Guard<T>[], delayMs = 0) {
    this.#registry = registry;
    this.#make = make;
    const { store, clock } = registry;
    const put = ({ name, json }: { name: string; json: string }): void => {
      this.#remove(name);
      this.#add(name, JSON.parse(json) as ApiObject);
    };
    for (const record of store.list(resource).records) put(record);
    store.subscribe(resource, ({ type, record }) => {
      const apply = () => (type === 'DELETED' ? this.#remove(record.name) : put(record));
      if (delayMs === 0) apply();
      else clock.setTimeout(apply, delayMs);
    });
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /**
   * Returns the guards that may apply to a request, ordered by object and position. The caller must still compare the
   * rules and selectors of each guard with the request.
   */
  find(attributes: AdmissionAttributes, owner = ''): T[] {
    const found = new Set<Entry<T>>();
    const add = (entries: Iterable<Entry<T>> | undefined): void => {
      for (const entry of entries ?? []) found.add(entry);
    };
    let words: Readonly<Record<Narrowing, readonly string[]>> | undefined;
    const place = namespaceLabelsOf(this.#registry, attributes);
    for (const word of resourceWordsFor(attributes)) {
      const bucket = this.#buckets.get(keyOf(owner, word));
      if (bucket === undefined) continue;
      add(bucket.every);
      const { name, namespace, object } = bucket.narrowed;
      words ??= narrowWordsFor(attributes, place === 'none' ? undefined : place);
      if (name.size > 0) for (const one of words.name) add(name.get(one));
      if (object.size > 0) for (const one of words.object) add(object.get(one));
      // An object without a namespace matches every namespace selector, so the guards of all namespaces apply.
      if (place === 'none') for (const entries of namespace.values()) add(entries);
      else if (namespace.size > 0) for (const one of words.namespace) add(namespace.get(one));
    }
    return [...found].sort(inOrder).map(({ item }) => item);
  }

  #add(name: string, object: ApiObject): void {
    const entries = this.#make(object).map(({ item, about, owner = '' }, position): Entry<T> => {
      const buckets = [...resourceWordsOf(about.rules)].map((word) => keyOf(owner, word));
      return { item, name, position, buckets, narrow: this.#rarest(narrowWordsOf(about)) };
    });
    this.#entries.set(name, entries);
    for (const entry of entries) {
      this.#count(entry, 1);
      for (const key of entry.buckets) {
        const bucket = this.#buckets.get(key) ?? emptyBucket<T>();
        this.#buckets.set(key, bucket);
        if (entry.narrow === undefined) bucket.every.add(entry);
        else {
          const near = bucket.narrowed[entry.narrow.by];
          for (const word of entry.narrow.words) near.set(word, (near.get(word) ?? new Set()).add(entry));
        }
      }
    }
  }

  #remove(name: string): void {
    for (const entry of this.#entries.get(name) ?? []) {
      this.#count(entry, -1);
      for (const key of entry.buckets) this.#removeFrom(key, entry);
    }
    this.#entries.delete(name);
  }

  #removeFrom(key: string, entry: Entry<T>): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    bucket.every.delete(entry);
    const near = entry.narrow === undefined ? undefined : bucket.narrowed[entry.narrow.by];
    for (const word of entry.narrow?.words ?? []) {
      const entries = near?.get(word);
      entries?.delete(entry);
      if (entries?.size === 0) near?.delete(word);
    }
    const { name, namespace, object } = bucket.narrowed;
    if (bucket.every.size + name.size + namespace.size + object.size === 0) this.#buckets.delete(key);
  }

  #share({ by, words }: NarrowWords): number {
    return words.reduce((sum, word) => sum + (this.#shares.get(`${by} ${word}`) ?? 0), 0);
  }

  #rarest([first, ...others]: readonly NarrowWords[]): NarrowWords | undefined {
    if (first === undefined) return undefined;
    return others.reduce((least, one) => (this.#share(one) < this.#share(least) ? one : least), first);
  }

  #count({ narrow }: Entry<T>, by: 1 | -1): void {
    for (const word of narrow?.words ?? []) {
      const key = `${narrow?.by} ${word}`;
      const share = (this.#shares.get(key) ?? 0) + by;
      if (share === 0) this.#shares.delete(key);
      else this.#shares.set(key, share);
    }
  }
}
