import { withoutUndefined } from '../base/defined.ts';
import type {
  DeleteOptions,
  ItemOptions,
  List,
  ListOptions,
  Patch,
  RequestOptions,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../contract/client.ts';
import type { Draft, KubeObject, ResourceDefinition } from '../contract/objects.ts';
import type { ServerHistory } from '../contract/server-history.ts';
import type { TransportResponse } from '../contract/transport.ts';
import { versionNumber } from '../contract/versions.ts';
import type { Call, Exchange } from './exchange.ts';
import { ItemSplitter } from './item-splitter.ts';
import { apiVersionOf, collectionPath, objectPath, query } from './paths.ts';
import { parseJson } from './refusal.ts';
import { watchEvents } from './watch.ts';

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml', // The API server parses the body as YAML. JSON is valid YAML.
} as const;

const selectors = (options: ListOptions | WatchOptions | undefined) => ({
  labelSelector: options?.labelSelector,
  fieldSelector: options?.fieldSelector,
  resourceVersion: options?.resourceVersion,
});

export const callOptions = (options: RequestOptions | undefined): Pick<Call, 'signal' | 'patient' | 'beforeSend'> => ({
  signal: options?.signal,
  beforeSend: options?.beforeSend,
  patient: options?.onRetryAfter === 'throw' ? false : undefined,
});

const writeQuery = (options: WriteOptions | undefined, patch?: Patch): string =>
  query({
    fieldManager: patch?.type === 'apply' ? patch.fieldManager : options?.fieldManager,
    force: patch?.type === 'apply' && patch.force === true,
    dryRun: options?.dryRun === true ? 'All' : undefined,
  });

function deleteBody(options: DeleteOptions | undefined): { body?: string } {
  const { gracePeriodSeconds, propagationPolicy, preconditions } = options ?? {};
  if (gracePeriodSeconds === undefined && propagationPolicy === undefined && preconditions === undefined) return {};
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds, propagationPolicy, preconditions };
  return { body: JSON.stringify(body) };
}

export class HttpResourceClient<T extends KubeObject> implements ResourceClient<T> {
  readonly #exchange: Exchange;
  readonly #history: ServerHistory;
  readonly #definition: ResourceDefinition<T>;
  readonly #namespace: string | undefined;
  readonly #apiVersion: string;

  constructor(
    exchange: Exchange,
    history: ServerHistory,
    definition: ResourceDefinition<T>,
    namespace: string | undefined,
  ) {
    this.#exchange = exchange;
    this.#history = history;
    this.#definition = definition;
    this.#namespace = namespace;
    this.#apiVersion = apiVersionOf(definition);
  }

  async get(name: string, options?: RequestOptions): Promise<T> {
    return this.#json<T>({ method: 'GET', path: this.#path(name), ...callOptions(options) });
  }

  async list(options?: ListOptions & ItemOptions<T>): Promise<List<T>> {
    const parameters = query({
      ...selectors(options),
      limit: options?.limit,
      continue: options?.continue,
      resourceVersionMatch: options?.resourceVersionMatch,
    });
    const call: Call = { method: 'GET', path: this.#all() + parameters, ...callOptions(options) };
    const each = options?.each;
    if (each !== undefined) return this.#exchange.read(call, (response) => this.#listEach(call, response, each));
    const list = await this.#json<List<T>>(call);
    for (const item of list.items ?? []) this.#setType(item);
    return { metadata: list.metadata, items: list.items ?? [] };
  }

  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const parameters = query({
      watch: true,
      ...selectors(options),
      allowWatchBookmarks: options?.allowWatchBookmarks,
      timeoutSeconds: options?.timeoutSeconds,
    });
    return watchEvents<T>(
      this.#exchange,
      { method: 'GET', path: this.#all() + parameters, ...callOptions(options) },
      options?.onOpen,
    );
  }

  async create(object: Draft<T>, options?: WriteOptions): Promise<T> {
    const namespace = this.#namespace ?? object.metadata.namespace;
    const { name } = object.metadata;
    const path =
      options?.subresource !== undefined || (this.#definition.namespaced && namespace === undefined)
        ? objectPath(this.#definition, namespace, name ?? '', options?.subresource)
        : collectionPath(this.#definition, namespace);
    const body = JSON.stringify({ apiVersion: this.#apiVersion, kind: this.#definition.kind, ...object });
    const call: Call = { method: 'POST', path: path + writeQuery(options), body, ...callOptions(options) };
    const known = this.#history.newestOf(this.#definition);
    const { rollbacks } = this.#history;
    const made = await this.#json<T>(call);
    const version = versionNumber(made.metadata?.resourceVersion ?? '');
    if (version < known && rollbacks === this.#history.rollbacks)
      this.#history.wentBack(
        `the API server created ${this.#definition.plural} ${made.metadata.name} with version ${version}, which is older than the known version ${known}`,
      );
    return made;
  }

  async update(object: T, options?: WriteOptions): Promise<T> {
    const path = this.#path(object.metadata.name, options?.subresource, object.metadata.namespace);
    const body = JSON.stringify(object);
    return this.#json<T>({ method: 'PUT', path: path + writeQuery(options), body, ...callOptions(options) });
  }

  async patch(name: string, patch: Patch, options?: WriteOptions): Promise<T> {
    return this.#json<T>({
      method: 'PATCH',
      path: this.#path(name, options?.subresource) + writeQuery(options, patch),
      body: JSON.stringify(patch.body),
      contentType: PATCH_TYPES[patch.type],
      ...callOptions(options),
    });
  }

  async delete(name: string, options?: DeleteOptions): Promise<T | undefined> {
    const call: Call = { method: 'DELETE', path: this.#path(name), ...deleteBody(options), ...callOptions(options) };
    const answer = await this.#json<T>(call);
    return answer.kind === this.#definition.kind ? answer : undefined;
  }

  async deleteCollection(options?: ListOptions & DeleteOptions): Promise<void> {
    const path = this.#all() + query({ ...selectors(options), limit: options?.limit, continue: options?.continue });
    await this.#exchange.text({ method: 'DELETE', path, ...deleteBody(options), ...callOptions(options) });
  }

  async createSubresource<R = unknown>(
    name: string,
    subresource: string,
    body: object,
    options?: RequestOptions,
  ): Promise<R> {
    return this.#json<R>({
      method: 'POST',
      path: this.#path(name, subresource),
      body: JSON.stringify(body),
      ...callOptions(options),
      // While the API server updates a disruption budget, it responds to evictions with 429 and Retry-After: 10.
      ...withoutUndefined({ patient: subresource === 'eviction' ? false : undefined }),
    });
  }

  #all(): string {
    return collectionPath(this.#definition, this.#namespace);
  }

  #path(name: string, subresource?: string, namespace?: string): string {
    return objectPath(this.#definition, this.#namespace ?? namespace, name, subresource);
  }

  async #json<R>(call: Call): Promise<R> {
    const { rollbacks } = this.#history;
    const answer: unknown = parseJson(await this.#exchange.text(call), call);
    if (typeof answer === 'object' && answer !== null) this.#history.noteAnswer(answer, rollbacks);
    return answer as R;
  }

  /** The API server omits kind and apiVersion in the items of a list. */
  #setType(item: T): void {
    item.apiVersion = this.#apiVersion;
    item.kind = this.#definition.kind;
  }

  async #listEach(call: Call, response: TransportResponse, each: (item: T) => T): Promise<List<T>> {
    const splitter = new ItemSplitter();
    const items: T[] = [];
    for await (const chunk of response.body ?? [Buffer.from(await response.text())]) {
      for (const text of splitter.push(chunk)) {
        const item = parseJson(text, call) as T;
        this.#setType(item);
        items.push(each(item));
      }
    }
    const { metadata } = parseJson(splitter.rest(), call) as List<T>;
    return { metadata, items };
  }
}
