import { errorText } from '../base/error-text.ts';
import { isReview } from '../client/paths.ts';
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  Patch,
  ResourceClient,
  WriteOptions,
} from '../contract/client.ts';
import { KubeError } from '../contract/errors.ts';
import type { Draft, KubeObject } from '../contract/objects.ts';
import type { Fence } from './fence.ts';

async function ask(fence: Fence, what: string): Promise<void> {
  try {
    await fence.held();
  } catch (error) {
    const why = `could not confirm that this process is the leader (${errorText(error)})`;
    throw new KubeError(`${what} was not sent: ${why}`, { code: 0, reason: 'NotLeading', cause: error });
  }
}

class FencedResource<T extends KubeObject> implements ResourceClient<T> {
  readonly #real: ResourceClient<T>;
  readonly #plural: string;
  readonly #fence: Fence;
  readonly get: ResourceClient<T>['get'];
  readonly list: ResourceClient<T>['list'];
  readonly watch: ResourceClient<T>['watch'];

  constructor(real: ResourceClient<T>, plural: string, fence: Fence) {
    this.#real = real;
    this.#plural = plural;
    this.#fence = fence;
    this.get = (name, options) => real.get(name, options);
    this.list = (options) => real.list(options);
    this.watch = (options) => real.watch(options);
  }

  async create(object: Draft<T>, options?: WriteOptions): Promise<T> {
    await ask(this.#fence, `create ${this.#plural}`);
    return this.#real.create(object, options);
  }

  async update(object: T, options?: WriteOptions): Promise<T> {
    await ask(this.#fence, `update ${this.#plural} ${object.metadata.name}`);
    return this.#real.update(object, options);
  }

  async patch(name: string, patch: Patch, options?: WriteOptions): Promise<T> {
    await ask(this.#fence, `patch ${this.#plural} ${name}`);
    return this.#real.patch(name, patch, options);
  }

  async delete(name: string, options?: DeleteOptions): Promise<T | undefined> {
    await ask(this.#fence, `delete ${this.#plural} ${name}`);
    return this.#real.delete(name, options);
  }

  async deleteCollection(options?: ListOptions & DeleteOptions): Promise<void> {
    await ask(this.#fence, `delete ${this.#plural}`);
    return this.#real.deleteCollection(options);
  }

  async createSubresource<R>(...[name, subresource, ...rest]: SubresourceArguments): Promise<R> {
    await ask(this.#fence, `create ${subresource} of ${this.#plural} ${name}`);
    return this.#real.createSubresource<R>(name, subresource, ...rest);
  }
}

type SubresourceArguments = Parameters<ResourceClient<KubeObject>['createSubresource']>;

/**
 * A client that sends writes only while no other process can be the leader.
 * A process that was suspended for longer than its Lease must not write its earlier decisions. Reads and reviews need no check.
 * A write that is not sent fails with a `KubeError` of reason `NotLeading`.
 */
export const fencedClient = (real: KubeClient, fence: Fence): KubeClient => ({
  history: real.history,
  resource: (definition, namespace) =>
    new FencedResource(real.resource(definition, namespace), definition.plural, fence),
  request: async (method, path, options) => {
    if (method !== 'GET' && !isReview(path)) await ask(fence, `${method} ${path}`);
    return real.request(method, path, options);
  },
});
