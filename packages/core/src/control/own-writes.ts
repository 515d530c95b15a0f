import {
  type Informer,
  isRecord,
  type KubeClient,
  KubeError,
  type KubeObject,
  keyOf,
  makeKey,
  type Patch,
  type ResourceClient,
  type WriteOptions,
} from '@mcm/kube';
import { Lane } from '../flow/lane.ts';
import { semanticEqual } from '../values/semantic-equal.ts';
import { changedBeyondStatus } from './caches.ts';

const MOST_VERSIONS = 16;

interface Versions {
  readonly lane: Lane;
  status: readonly string[];
  rest: readonly string[];
  all: readonly string[];
  last?: KubeObject;
}

type Book = Map<string, Versions>;

const metadataOf = ({ type, body }: Patch): Readonly<Record<string, unknown>> | undefined =>
  type === 'merge' && 'metadata' in body && isRecord(body.metadata) ? body.metadata : undefined;

const versionOf = (patch: Patch): string | undefined => {
  const version = metadataOf(patch)?.resourceVersion;
  return typeof version === 'string' ? version : undefined;
};

const withVersion = (patch: Patch, resourceVersion: string | undefined): Patch => {
  const metadata = metadataOf(patch);
  if (patch.type !== 'merge' || resourceVersion === undefined) return patch;
  return { ...patch, body: { ...patch.body, metadata: { ...metadata, resourceVersion } } };
};

const statusOf = (object: KubeObject): unknown => ('status' in object ? object.status : undefined);

function newer(cached: KubeObject | undefined, written: KubeObject | undefined): KubeObject | undefined {
  if (cached === undefined || cached.metadata.uid !== written?.metadata.uid) return cached;
  return Number(written.metadata.resourceVersion) > Number(cached.metadata.resourceVersion) ? written : cached;
}

function note(known: Versions, cached: KubeObject | undefined, answer: KubeObject): void {
  const before = cached?.metadata.uid === answer.metadata.uid ? cached : undefined;
  const follow = (versions: readonly string[], isEqual: (before: KubeObject) => boolean): readonly string[] => {
    const { resourceVersion } = answer.metadata;
    if (!before || !isEqual(before)) return [resourceVersion];
    const old = before.metadata.resourceVersion;
    return [...(versions.includes(old) ? versions : [old]), resourceVersion].slice(-MOST_VERSIONS);
  };
  known.status = follow(known.status, (old) => semanticEqual(statusOf(old), statusOf(answer)));
  known.rest = follow(known.rest, (old) => !changedBeyondStatus(old, answer));
  known.all = follow(known.all, () => true);
}

/**
 * Returns the error for a write that mcm does not send, because the API server would refuse the write with a conflict.
 */
const changed = (resource: string, key: string): KubeError =>
  new KubeError(`${resource} ${key} changed after the decision; mcm decides again`, { code: 409, reason: 'Conflict' });

/**
 * Sends only updates and patches in order. A delete request is sent at once and unchanged, because its precondition
 * must stay the observed resource version.
 */
class OrderedResource<T extends KubeObject> implements ResourceClient<T> {
  readonly #real: ResourceClient<T>;
  readonly #informer: Informer<KubeObject>;
  readonly #namespace: string | undefined;
  readonly #book: Book;
  readonly create: ResourceClient<T>['create'];
  readonly delete: ResourceClient<T>['delete'];
  readonly deleteCollection: ResourceClient<T>['deleteCollection'];
  readonly createSubresource: ResourceClient<T>['createSubresource'];
  readonly get: ResourceClient<T>['get'];
  readonly list: ResourceClient<T>['list'];
  readonly watch: ResourceClient<T>['watch'];

  constructor(
    real: ResourceClient<T>,
    { informer, namespace, book }: { informer: Informer<KubeObject>; namespace: string | undefined; book: Book },
  ) {
    this.#real = real;
    this.#informer = informer;
    this.#namespace = namespace;
    this.#book = book;
    this.create = (object, options) => real.create(object, options);
    this.delete = (name, options) => real.delete(name, options);
    this.deleteCollection = (options) => real.deleteCollection(options);
    this.createSubresource = (name, subresource, body, options) =>
      real.createSubresource(name, subresource, body, options);
    this.get = (name, options) => real.get(name, options);
    this.list = (options) => real.list(options);
    this.watch = (options) => real.watch(options);
  }

  update(object: T, options: WriteOptions = {}): Promise<T> {
    const { metadata } = object;
    return this.#inOrder(keyOf(object), metadata.resourceVersion, options, (resourceVersion = '') =>
      this.#real.update({ ...object, metadata: { ...metadata, resourceVersion } }, options),
    );
  }

  patch(name: string, patch: Patch, options: WriteOptions = {}): Promise<T> {
    return this.#inOrder(makeKey(this.#namespace, name), versionOf(patch), options, (resourceVersion) =>
      this.#real.patch(name, withVersion(patch, resourceVersion), options),
    );
  }

  #inOrder(
    key: string,
    seen: string | undefined,
    { signal, subresource }: WriteOptions,
    send: (resourceVersion: string | undefined) => Promise<T>,
  ): Promise<T> {
    const known = this.#book.get(key) ?? { lane: new Lane(1), status: [], rest: [], all: [] };
    this.#book.set(key, known);
    return known.lane.run(async () => {
      signal?.throwIfAborted();
      const cached = newer(this.#informer.store.get(key), known.last);
      const newest = cached?.metadata.resourceVersion;
      const isFollowed = (versions: readonly string[]): boolean =>
        newest !== undefined && seen !== undefined && versions.includes(seen) && versions.includes(newest);
      const isFree = isFollowed(subresource === undefined ? known.rest : known.status);
      if (!isFree && seen !== newest && isFollowed(known.all)) throw changed(this.#informer.resource, key);
      const answer = await send(isFree ? newest : seen);
      known.last = answer;
      note(known, cached, answer);
      return answer;
    });
  }
}

/**
 * Returns a client that sends the writes of one object one after the other. The order applies to the kinds of the given
 * caches. Without this order, two controllers of one process would cause conflicts if they write the same object.
 *
 * The client treats the status and the other fields as two parts. A write of one part fails with a conflict only if
 * this part has changed.
 */
export function orderedClient(real: KubeClient, informers: readonly Informer<KubeObject>[]): KubeClient {
  const books = new Map<string, { readonly informer: Informer<KubeObject>; readonly book: Book }>();
  for (const informer of informers) {
    const book: Book = new Map();
    books.set(informer.resource, { informer, book });
    informer.onChange(({ type, key }) => {
      if (type === 'deleted') book.delete(key);
    });
    // After a restore, the API server may use a known resource version for different content of the object.
    informer.onDoubt(() => book.clear());
  }
  return {
    history: real.history,
    resource: (definition, namespace) => {
      const resource = real.resource(definition, namespace);
      const ordered = books.get(definition.plural);
      return ordered ? new OrderedResource(resource, { ...ordered, namespace }) : resource;
    },
    request: (method, path, options) => real.request(method, path, options),
  };
}
