import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look, strings } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { type Api, allowing } from '../client/api.ts';
import { NAMESPACES, pathOf } from '../client/resources.ts';
import type { ServedResource } from '../discovery/directory.ts';
import { isDying } from '../objects/fields.ts';
import { type Content, terminationConditions } from './conditions.ts';

const FINALIZER = 'kubernetes';

/**
 * Returns the pods, which the controller deletes first, because a running pod may need secrets, claims and
 * configuration.
 */
function firstOf(content: readonly Content[]): readonly Content[] {
  const pods = content.filter(({ resource }) => resource.group === '' && resource.plural === 'pods');
  return pods.length > 0 ? pods : content;
}

export class NamespaceWriter {
  readonly #api: Api;
  readonly #clock: Clock;

  constructor(api: Api, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  async sync(namespace: ApiObject, content: readonly Content[], resources: readonly ServedResource[]): Promise<void> {
    if (!isDying(namespace) || !strings(look(namespace, 'spec'), 'finalizers').includes(FINALIZER)) return;
    const { name = '' } = namespace.metadata;
    const failures = await this.#deleteContent(name, content);
    if (content.length === 0 && (await this.#isEmpty(name, resources))) {
      const reported = await this.#report(namespace, [], []);
      return reported === undefined ? undefined : this.#finalize(reported);
    }
    const isWaiting = failures.length > 0 || content.some(({ objects }) => objects.some(isDying));
    if (!isWaiting && content.length > 0) return;
    const messages = failures.map(({ message }) => message).sort();
    const counted = firstOf(content) === content ? content : [];
    await this.#report(namespace, counted, messages);
    if (failures[0] !== undefined) throw failures[0];
  }

  /** Reads the API server, because the caches may be outdated. The deletion of a namespace cannot be undone. */
  async #isEmpty(name: string, resources: readonly ServedResource[]): Promise<boolean> {
    for (const resource of resources) {
      const path = `${pathOf(resource, { namespace: name })}?limit=1`;
      const answer = await allowing(this.#api.call<{ items: unknown[] }>(path), 404);
      if (answer !== undefined && answer.items.length > 0) return false;
    }
    return true;
  }

  /** Deletes the content of a namespace, and returns the errors of failed delete requests. */
  async #deleteContent(name: string, content: readonly Content[]): Promise<StatusError[]> {
    const failures: StatusError[] = [];
    for (const { resource, objects } of firstOf(content)) {
      for (const object of objects) {
        if (isDying(object)) continue;
        const place = { namespace: name, name: object.metadata.name };
        try {
          await allowing(this.#api.delete(resource, place, { propagationPolicy: 'Background' }), 404, 409);
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          failures.push(error);
          break;
        }
      }
    }
    return failures;
  }

  /** Removes the finalizer of a namespace. The server deletes the namespace when its last finalizer is removed. */
  async #finalize(namespace: ApiObject): Promise<void> {
    const finalizers = strings(look(namespace, 'spec'), 'finalizers').filter((finalizer) => finalizer !== FINALIZER);
    const path = pathOf(NAMESPACES, { name: namespace.metadata.name ?? '', subresource: 'finalize' });
    await allowing(this.#api.call<ApiObject>(path, 'PUT', { ...namespace, spec: { finalizers } }), 404, 409);
  }

  /** Writes the status of a terminating namespace. */
  async #report(
    namespace: ApiObject,
    content: readonly Content[],
    messages: readonly string[],
  ): Promise<ApiObject | undefined> {
    const conditions = terminationConditions(namespace, content, messages, this.#clock.now());
    if (jsonEquals(look(namespace, 'status').conditions, conditions)) return namespace;
    const { name = '', resourceVersion } = namespace.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    return allowing(this.#api.patch(NAMESPACES, { name, subresource: 'status' }, patch), 404, 409);
  }
}
