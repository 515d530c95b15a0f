import { errorText } from '../base/error-text.ts';
import { isReview } from '../client/paths.ts';
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  Patch,
  RequestOptions,
  ResourceClient,
  WriteOptions,
} from '../contract/client.ts';
import { KubeError } from '../contract/errors.ts';
import type { Draft, KubeObject } from '../contract/objects.ts';
import type { Fence } from './fence.ts';

/**
 * Checks the leadership before each attempt and after all waits of the client. The waits may be longer than the lease
 * duration.
 */
const fenced = (fence: Fence, request: string): Pick<RequestOptions, 'beforeSend'> => ({
  beforeSend: async () => {
    try {
      await fence.held();
    } catch (error) {
      const why = `could not confirm that this process is the leader (${errorText(error)})`;
      throw new KubeError(`${request} was not sent: ${why}`, { code: 0, reason: 'NotLeading', cause: error });
    }
  },
});

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

  create(object: Draft<T>, options?: WriteOptions): Promise<T> {
    return this.#real.create(object, { ...options, ...fenced(this.#fence, `create ${this.#plural}`) });
  }

  update(object: T, options?: WriteOptions): Promise<T> {
    return this.#real.update(object, {
      ...options,
      ...fenced(this.#fence, `update ${this.#plural} ${object.metadata.name}`),
    });
  }

  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T> {
    return this.#real.patch(name, patch, { ...options, ...fenced(this.#fence, `patch ${this.#plural} ${name}`) });
  }

  delete(name: string, options?: DeleteOptions): Promise<T | undefined> {
    return this.#real.delete(name, { ...options, ...fenced(this.#fence, `delete ${this.#plural} ${name}`) });
  }

  deleteCollection(options?: ListOptions & DeleteOptions): Promise<void> {
    return this.#real.deleteCollection({ ...options, ...fenced(this.#fence, `delete ${this.#plural}`) });
  }

  createSubresource<R>(...[name, subresource, body, options]: SubresourceArguments): Promise<R> {
    const request = `create ${subresource} of ${this.#plural} ${name}`;
    return this.#real.createSubresource<R>(name, subresource, body, { ...options, ...fenced(this.#fence, request) });
  }
}

type SubresourceArguments = Parameters<ResourceClient<KubeObject>['createSubresource']>;

/**
 * Wraps a client so that it sends writes only while no other process can be the leader. An unsent write fails with a
 * `KubeError` of reason `NotLeading`.
 */
export const fencedClient = (real: KubeClient, fence: Fence): KubeClient => ({
  history: real.history,
  resource: (definition, namespace) =>
    new FencedResource(real.resource(definition, namespace), definition.plural, fence),
  request: (method, path, options) => {
    if (method === 'GET' || isReview(path)) return real.request(method, path, options);
    return real.request(method, path, { ...options, ...fenced(fence, `${method} ${path}`) });
  },
});
