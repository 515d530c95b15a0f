import { isReview } from '../client/paths.ts';
import type { KubeClient, Patch, ResourceClient, WatchEvent, WatchOptions, WriteOptions } from '../contract/client.ts';
import { KubeError } from '../contract/errors.ts';
import type { Draft, KubeObject, ResourceDefinition } from '../contract/objects.ts';
import type { Decision, ObserveDecisions } from './decisions.ts';
import { missing, missingOfPatch } from './holds.ts';

/** Returns the error for a write that observe mode did not send. */
const notSent = (request: string, object: string): KubeError =>
  new KubeError(`${request} ${object} was not sent: --observe-only`, { code: 0, reason: 'ObserveOnly' });

class ObservingResource<T extends KubeObject> implements ResourceClient<T> {
  readonly #real: ResourceClient<T>;
  readonly #definition: ResourceDefinition<T>;
  readonly #namespace: string;
  readonly #decisions: ObserveDecisions;
  readonly get: ResourceClient<T>['get'];
  readonly list: ResourceClient<T>['list'];

  constructor(
    real: ResourceClient<T>,
    definition: ResourceDefinition<T>,
    namespace: string | undefined,
    decisions: ObserveDecisions,
  ) {
    this.#real = real;
    this.#definition = definition;
    this.#namespace = namespace ?? '';
    this.#decisions = decisions;
    this.get = (name, options) => real.get(name, options);
    this.list = (options) => real.list(options);
  }

  async *watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>> {
    for await (const event of this.#real.watch(options)) {
      if (event.type !== 'BOOKMARK')
        this.#decisions.saw(this.#definition.plural, event.object, event.type === 'DELETED');
      yield event;
    }
  }

  async create(object: Draft<T>): Promise<T> {
    // Events are neither sent nor recorded, because no decision depends on Events.
    if (this.#definition.plural === 'events') return object as T;
    const { name, generateName = '', ownerReferences = [], namespace = this.#namespace } = object.metadata;
    const { uid: owner, name: ownerName } = ownerReferences.find(({ controller }) => controller === true) ?? {};
    // A new object has no name yet. The comparison therefore accepts any new object with the same owner as the created
    // object.
    const done = ({ metadata }: KubeObject, deleted: boolean): boolean =>
      !deleted &&
      (metadata.namespace ?? '') === namespace &&
      (owner === undefined
        ? metadata.name === name
        : metadata.ownerReferences?.some(({ uid }) => uid === owner) === true);
    const what = { verb: 'create', object: `${namespace}/${ownerName ?? name ?? generateName}` };
    return this.#refuse({ ...what, unnamed: owner !== undefined, done });
  }

  async update(object: T, options?: WriteOptions): Promise<T> {
    const { name } = object.metadata;
    const part = options?.subresource === 'status' && 'status' in object ? { status: object.status } : object;
    return this.#change('update', name, options, part, (seen) => missing(seen, part));
  }

  async patch(name: string, patch: Patch, options?: WriteOptions): Promise<T> {
    if (this.#definition.plural === 'events') return patch.body as T;
    if (options?.bookkeeping === true) throw notSent(`patch ${this.#definition.plural}`, `${this.#namespace}/${name}`);
    return this.#change('patch', name, options, patch.body, (seen) => missingOfPatch(seen, patch));
  }

  async delete(name: string): Promise<T | undefined> {
    const done = (seen: KubeObject, deleted: boolean): boolean =>
      this.#is(seen, name) && (deleted || seen.metadata.deletionTimestamp !== undefined);
    return this.#refuse({ verb: 'delete', object: `${this.#namespace}/${name}`, done });
  }

  async deleteCollection(): Promise<void> {
    throw notSent('delete', this.#definition.plural);
  }

  async createSubresource<R>(name: string, subresource: string): Promise<R> {
    const done = (seen: KubeObject, deleted: boolean): boolean =>
      this.#is(seen, name) && (deleted || seen.metadata.deletionTimestamp !== undefined);
    return this.#refuse({ verb: `create ${subresource} of`, object: `${this.#namespace}/${name}`, done });
  }

  #is({ metadata }: KubeObject, name: string): boolean {
    return metadata.name === name && (this.#namespace === '' || metadata.namespace === this.#namespace);
  }

  #change(
    verb: string,
    name: string,
    options: WriteOptions | undefined,
    body: object,
    lacks: (seen: KubeObject) => readonly string[],
  ): Promise<T> {
    const suffix = options?.subresource === undefined ? '' : `/${options.subresource}`;
    const content = JSON.stringify(body).replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"|"(?:resourceVersion|uid)":"[^"]*"/g, '""');
    const done = (seen: KubeObject, deleted: boolean): boolean =>
      this.#is(seen, name) && !deleted && lacks(seen).length === 0;
    return this.#refuse({ verb, object: `${this.#namespace}/${name}`, content, done, lacks, suffix });
  }

  #refuse<R>(
    refused: Pick<Decision, 'object' | 'unnamed' | 'done' | 'lacks'> & {
      verb: string;
      content?: string;
      suffix?: string;
    },
  ): Promise<R> {
    const { verb, content = '', suffix = '', ...decision } = refused;
    const resource = this.#definition.plural;
    const what = `${verb} ${resource}${suffix}`;
    this.#decisions.want({ what, resource, content, ...decision });
    return Promise.reject(notSent(what, decision.object));
  }
}

/** Wraps a client for observe mode. */
export const observingClient = (real: KubeClient, decisions: ObserveDecisions): KubeClient => ({
  history: real.history,
  resource: (definition, namespace) =>
    new ObservingResource(real.resource(definition, namespace), definition, namespace, decisions),
  request: (method, path, options) =>
    method === 'GET' || isReview(path) ? real.request(method, path, options) : Promise.reject(notSent(method, path)),
});
