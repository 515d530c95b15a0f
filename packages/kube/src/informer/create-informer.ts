import { errorText } from '../base/error-text.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import { isForbidden, type KubeError } from '../contract/errors.ts';
import type { Change, Informer, InformerDemand, InformerOptions } from '../contract/informer.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import type { ServerHistory } from '../contract/server-history.ts';
import { conform } from '../contract/shape.ts';
import type { Sized } from './cache.ts';
import { faultsOf, faultText, noteFaults } from './faults.ts';
import { deepFreeze } from './freeze.ts';
import { Reflector } from './reflector.ts';
import { Replica } from './replica.ts';

/** The settings that all informers of a process share. */
export interface InformerRuntime {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /**
   * Whether the cache freezes its objects deeply, so that a write to a shared object throws. Only tests set `freeze`.
   */
  readonly freeze?: boolean;
  readonly observe?: (resource: string, what: 'list' | 'watch' | 'shortWatch', items: number) => void;
  readonly outage?: (resource: string, failure: unknown) => void;
  readonly malformed?: (object: KubeObject, sentence: string, client: KubeClient) => void;
  readonly sized?: Sized | undefined;
}

const DEFAULT_PAGE_SIZE = 500;
/** The API server sends a bookmark every minute, so a watch without data for 90 seconds is broken. */
const DEFAULT_SILENCE_LIMIT_MS = 90_000;

/** Removes the managed fields, which no controller reads. The managed fields can be a third of an object. */
function dropManagedFields(object: KubeObject): void {
  const metadata: KubeObject['metadata'] & { managedFields?: unknown } = object.metadata;
  if (metadata.managedFields !== undefined) delete metadata.managedFields;
}

class LiveInformer<T extends KubeObject> implements Informer<T> {
  readonly resource: string;
  readonly #replica: Replica<T>;
  readonly #reflector: Reflector<T>;
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #refusalHandlers = new Set<() => void>();
  readonly #doubtHandlers = new Set<() => void>();
  readonly #take: (object: T) => T;
  readonly #malformed: (object: T, sentence: string) => void;
  readonly #log: Logger;
  readonly #history: ServerHistory;
  readonly #demand: InformerDemand | undefined;
  #ready = Promise.withResolvers<void>();
  #synced = false;
  #refused: KubeError | undefined;
  #doubted = false;
  #started = false;

  constructor(client: KubeClient, definition: ResourceDefinition<T>, options: InformerOptions<T> & InformerRuntime) {
    const { project, freeze, namespace, labelSelector, fieldSelector, observe, outage, onAccess, malformed } = options;
    const { shape } = definition;
    this.resource = definition.plural;
    this.#log = options.log;
    this.#history = client.history;
    this.#demand = options.demand;
    this.#demand?.add(this);
    this.#malformed = (object, sentence) => malformed?.(object, sentence, client);
    this.#take = (object) => {
      dropManagedFields(object);
      const faults = shape === undefined ? [] : conform(object, shape);
      const kept = project === undefined ? object : this.#projected(object, project);
      noteFaults(kept, faults);
      return freeze === true ? deepFreeze(kept) : kept;
    };
    this.#replica = new Replica<T>({
      indexes: options.indexes,
      sized: options.sized,
      indexFailed: (index, object, error) =>
        this.#log.error('Index function failed for an object; lookups in the index do not find the object', {
          ...this.#named(object),
          index,
          error: errorText(error),
        }),
      emit: (change) => this.#emit(change),
    });
    this.#reflector = new Reflector<T>({
      client,
      definition,
      namespace,
      labelSelector,
      fieldSelector,
      onAccess: (refused) => {
        if (refused === undefined || isForbidden(refused)) onAccess?.(refused);
        this.#noteRefused(refused);
      },
      onOutage: outage === undefined ? undefined : (failure) => outage(definition.plural, failure),
      observe: observe === undefined ? undefined : (what, items) => observe(definition.plural, what, items),
      pageSize: options.pageSize ?? DEFAULT_PAGE_SIZE,
      dataTimeoutMs: options.dataTimeoutMs ?? DEFAULT_SILENCE_LIMIT_MS,
      clock: options.clock,
      random: options.random,
      log: options.log,
      replica: this.#replica,
      take: this.#take,
      onDoubt: (doubted) => {
        this.#doubted = doubted;
        for (const handler of this.#doubtHandlers) handler();
      },
      onSynced: () => {
        this.#synced = true;
        this.#ready.resolve();
        this.#demand?.progressed();
      },
    });
  }

  get store() {
    return this.#replica.cache;
  }

  get malformed(): number {
    return this.#replica.cache.malformed;
  }

  #projected(object: T, project: (object: T) => T): T {
    try {
      return project(object);
    } catch (error) {
      const fields = { ...this.#named(object), error: errorText(error) };
      this.#log.error('Projection of an object failed; storing the whole object', fields);
      return object;
    }
  }

  #named(object: T): { readonly resource: string; readonly object: string } {
    return { resource: this.resource, object: this.#keyOf(object) };
  }

  get synced(): boolean {
    return this.#synced;
  }

  get refused(): KubeError | undefined {
    return this.#refused;
  }

  get doubted(): boolean {
    return this.#doubted;
  }

  get proven(): boolean {
    return this.#reflector.proven && (this.#demand === undefined || this.#synced);
  }

  onDoubt(handler: () => void): () => void {
    const own = (): void => handler();
    this.#doubtHandlers.add(own);
    return () => this.#doubtHandlers.delete(own);
  }

  onRefused(handler: () => void): () => void {
    const own = (): void => handler();
    this.#refusalHandlers.add(own);
    return () => this.#refusalHandlers.delete(own);
  }

  #noteRefused(refused: KubeError | undefined): void {
    const before = this.#refused;
    this.#refused = refused;
    if (before?.message === refused?.message) return;
    for (const handler of this.#refusalHandlers) handler();
    this.#demand?.progressed();
  }

  get closed(): boolean {
    return this.#demand !== undefined && !this.#demand.open;
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    if (this.closed) return Promise.resolve();
    if (signal === undefined) return this.#ready.promise;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      void this.#ready.promise.then(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }

  onChange(handler: (change: Change<T>) => void): () => void {
    const own = (change: Change<T>): void => handler(change);
    for (const object of this.store.list()) this.#call(own, { type: 'added', key: this.#keyOf(object), object });
    this.#handlers.add(own);
    return () => this.#handlers.delete(own);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#start();
    if (this.#demand === undefined) return this.#reflector.run(signal);
    for (;;) {
      const closes = await this.#demand.opened(signal);
      if (closes === undefined) return;
      await this.#reflector.run(AbortSignal.any([signal, closes]));
      if (!signal.aborted) this.#forget();
    }
  }

  #forget(): void {
    this.#synced = false;
    this.#ready = Promise.withResolvers<void>();
    this.#replica.clear();
    this.#reflector.forget();
    this.#noteRefused(undefined);
  }

  async readOnce(signal: AbortSignal): Promise<void> {
    this.#start();
    await this.#reflector.once(signal);
  }

  #start(): void {
    if (this.#started) throw new Error('an informer can be started only once');
    this.#started = true;
  }

  recordWrite(object: T): void {
    if (this.closed) return;
    // A restore of the API server has undone the write, so no watch event will report the object.
    if (this.#history.isOutdated(object)) return;
    this.#replica.written(this.#take(object));
  }

  sinceDataMs(): number {
    return this.#reflector.sinceDataMs();
  }

  behindForMs(): number {
    return this.#reflector.behindForMs();
  }

  #keyOf(object: T): string {
    const { namespace, name } = object.metadata;
    return namespace ? `${namespace}/${name}` : name;
  }

  #emit(change: Change<T>): void {
    this.#reportFaults(change);
    for (const handler of this.#handlers) this.#call(handler, change);
  }

  #reportFaults(change: Change<T>): void {
    const before = change.type === 'updated' ? faultText(change.old) : undefined;
    const sentence = change.type === 'deleted' ? undefined : faultText(change.object);
    if (sentence === before) return;
    const fields = this.#named(change.object);
    if (sentence === undefined) this.#log.info('Object is valid again', fields);
    else {
      this.#log.warn(sentence, { ...fields, fields: faultsOf(change.object).map(({ field }) => field) });
      this.#malformed(change.object, sentence);
    }
  }

  #call(handler: (change: Change<T>) => void, change: Change<T>): void {
    try {
      handler(change);
    } catch (error) {
      const fields = { resource: this.resource, key: change.key, change: change.type };
      this.#log.error('Change handler failed', { ...fields, error: errorText(error) });
    }
  }
}

/** Creates an informer. */
export const createInformer = <T extends KubeObject>(
  client: KubeClient,
  definition: ResourceDefinition<T>,
  options: InformerOptions<T> & InformerRuntime,
): Informer<T> => new LiveInformer(client, definition, options);
