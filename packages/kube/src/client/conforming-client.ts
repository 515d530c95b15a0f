import type { KubeClient, ResourceClient, WatchEvent } from '../contract/client.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { conform } from '../contract/shape.ts';
import { faultText, noteFaults } from '../informer/faults.ts';

/**
 * Wraps a client for programs that only display objects. The client repairs each object that does not conform to its
 * type, as a cache does. A caller must not write a complete object back, because the client removed fields with a wrong
 * type.
 * @param malformed Receives a sentence about each repaired object, each time a caller reads the object.
 */
export const conformingClient = (client: KubeClient, malformed: (sentence: string) => void): KubeClient => ({
  resource: <T extends KubeObject>(definition: ResourceDefinition<T>, namespace?: string): ResourceClient<T> => {
    const real = client.resource(definition, namespace);
    const take = (object: T): T => {
      const faults = definition.shape === undefined ? [] : conform(object, definition.shape);
      noteFaults(object, faults);
      const sentence = faultText(object);
      if (sentence !== undefined) malformed(sentence);
      return object;
    };
    async function* watch(events: AsyncIterable<WatchEvent<T>>): AsyncGenerator<WatchEvent<T>> {
      for await (const event of events) {
        if (event.type !== 'BOOKMARK') take(event.object);
        yield event;
      }
    }
    return {
      create: (object, options) => real.create(object, options),
      update: (object, options) => real.update(object, options),
      patch: (name, patch, options) => real.patch(name, patch, options),
      delete: (name, options) => real.delete(name, options),
      deleteCollection: (options) => real.deleteCollection(options),
      createSubresource: (name, subresource, body, options) => real.createSubresource(name, subresource, body, options),
      get: async (name, options) => take(await real.get(name, options)),
      list: async ({ each, ...options } = {}) => {
        if (each !== undefined) return real.list({ ...options, each: (object) => each(take(object)) });
        const list = await real.list(options);
        for (const object of list.items) take(object);
        return list;
      },
      watch: (options) => watch(real.watch(options)),
    };
  },
  request: (method, path, options) => client.request(method, path, options),
  history: client.history,
});
