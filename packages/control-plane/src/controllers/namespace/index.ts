import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, strings } from '../../apimachinery/objects/plain.ts';
import { ApiError, allowing, pathOf, resourceKey } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { ServedResource } from '../runtime/directory.ts';
import type { Informer } from '../runtime/informer.ts';
import { isDying, namespaceOf, timestamp } from '../runtime/objects.ts';
import { NAMESPACES } from '../runtime/resources.ts';

const FINALIZER = 'kubernetes';
/**
 * The delay before the content of a namespace is deleted, so that clients can see the state right after its deletion.
 * Kubernetes waits five seconds for other API servers to notice it; here is only one.
 */
const FIRST_LOOK_MS = 300;
const IGNORED = new Set(['events.k8s.io/events']);

/** The remaining objects of one kind in a namespace. */
interface Content {
  readonly resource: ServedResource;
  readonly objects: readonly ApiObject[];
}

const qualified = ({ plural, group }: ServedResource): string => `${plural}.${group}`;

const instances = (count: number): string => `${count} resource instances`;

function remainingMessage(content: readonly Content[]): string {
  const parts = content.map(({ resource, objects }) => `${qualified(resource)} has ${instances(objects.length)}`);
  return `Some resources are remaining: ${parts.sort().join(', ')}`;
}

function finalizersMessage(content: readonly Content[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { objects } of content) {
    for (const { metadata } of objects) {
      for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return undefined;
  const parts = [...counts].map(([finalizer, count]) => `${finalizer} in ${instances(count)}`);
  return `Some content in the namespace has finalizers remaining: ${parts.sort().join(', ')}`;
}

const failuresMessage = (failures: readonly string[]): string =>
  `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`;

/** The conditions of a terminating namespace, in the order of the real controller. */
export function terminationConditions(
  namespace: ApiObject,
  content: readonly Content[],
  failures: readonly string[],
  now: Date,
): Plain[] {
  const finalizers = finalizersMessage(content);
  const remain = content.length > 0;
  const rows: readonly (readonly [type: string, status: boolean, reason: string, message: string])[] = [
    ['NamespaceDeletionDiscoveryFailure', false, 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    failures.length > 0
      ? ['NamespaceDeletionContentFailure', true, 'ContentDeletionFailed', failuresMessage(failures)]
      : [
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ],
    remain
      ? ['NamespaceContentRemaining', true, 'SomeResourcesRemain', remainingMessage(content)]
      : ['NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'],
    finalizers !== undefined
      ? ['NamespaceFinalizersRemaining', true, 'SomeFinalizersRemain', finalizers]
      : ['NamespaceFinalizersRemaining', false, 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
  ];
  const old = items(look(namespace, 'status'), 'conditions');
  return rows.map(([type, holds, reason, message]) => {
    const status = holds ? 'True' : 'False';
    const before = old.find((condition) => condition.type === type);
    const since = before?.status === status ? before.lastTransitionTime : timestamp(now);
    return { type, status, lastTransitionTime: since, reason, message };
  });
}

/** While there are pods, only pods are deleted, because they may need the other objects for a graceful end. */
function firstOf(content: readonly Content[]): readonly Content[] {
  const pods = content.filter(({ resource }) => resource.group === '' && resource.plural === 'pods');
  return pods.length > 0 ? pods : content;
}

function setup({ api, clock, directory, informer, metadataInformer, queue }: ControllerContext): void {
  const namespaces = informer(NAMESPACES);
  const caches = new Map<
    string,
    { resource: ServedResource; in: (namespace: string) => ApiObject[]; cache: Informer }
  >();

  const isTerminating = (name: string): boolean => {
    const namespace = namespaces.get(name);
    return namespace !== undefined && isDying(namespace);
  };

  const contentOf = (name: string): Content[] => {
    const content: Content[] = [];
    for (const { resource, in: within } of caches.values()) {
      const objects = within(name);
      if (objects.length > 0) content.push({ resource, objects });
    }
    return content;
  };

  /** Reads the server, not the cache, because the deletion of the namespace is final. */
  const isEmpty = async (name: string): Promise<boolean> => {
    for (const { resource } of caches.values()) {
      const answer = await allowing(
        api.call<{ items: unknown[] }>(`${pathOf(resource, { namespace: name })}?limit=1`),
        404,
      );
      if (answer !== undefined && answer.items.length > 0) return false;
    }
    return true;
  };

  /** Requests the deletion of all content, pods first. Returns the errors of the failed requests. */
  const deleteContent = async (name: string, content: readonly Content[]): Promise<ApiError[]> => {
    const failures: ApiError[] = [];
    for (const { resource, objects } of firstOf(content)) {
      for (const object of objects) {
        if (isDying(object)) continue;
        const place = { namespace: name, name: object.metadata.name };
        try {
          await allowing(api.delete(resource, place, { propagationPolicy: 'Background' }), 404, 409);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          failures.push(error);
          break;
        }
      }
    }
    return failures;
  };

  /** Removes the finalizer of this controller from the namespace. The server deletes the namespace with the last one. */
  const finalize = async (namespace: ApiObject): Promise<void> => {
    const finalizers = strings(look(namespace, 'spec'), 'finalizers').filter((finalizer) => finalizer !== FINALIZER);
    const path = pathOf(NAMESPACES, { name: namespace.metadata.name ?? '', subresource: 'finalize' });
    await allowing(api.call<ApiObject>(path, 'PUT', { ...namespace, spec: { finalizers } }), 404, 409);
  };

  /** Writes the conditions. Returns the new namespace, or undefined if it was changed or deleted in between. */
  const tell = async (namespace: ApiObject, content: readonly Content[], messages: readonly string[]) => {
    const conditions = terminationConditions(namespace, content, messages, clock.now());
    if (jsonEquals(look(namespace, 'status').conditions, conditions)) return namespace;
    const { name = '', resourceVersion } = namespace.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions } };
    return allowing(api.patch(NAMESPACES, { name, subresource: 'status' }, patch), 404, 409);
  };

  const sync = async (name: string): Promise<void> => {
    const namespace = namespaces.get(name);
    if (namespace === undefined || !isDying(namespace)) return;
    if (!strings(look(namespace, 'spec'), 'finalizers').includes(FINALIZER)) return;
    const content = contentOf(name);
    const failures = await deleteContent(name, content);
    if (content.length === 0 && (await isEmpty(name))) {
      const told = await tell(namespace, [], []);
      return told === undefined ? undefined : finalize(told);
    }
    const isWaiting = failures.length > 0 || content.some(({ objects }) => objects.some(isDying));
    if (!isWaiting && content.length > 0) return;
    const messages = failures.map(({ message }) => message).sort();
    // While the controller waits for pods, it does not report the remaining content.
    const counted = firstOf(content) === content ? content : [];
    await tell(namespace, counted, messages);
    if (failures[0] !== undefined) throw failures[0];
  };
  const work = queue(sync);

  namespaces.onChange(({ type, object, old }) => {
    if (type === 'deleted' || !isDying(object)) return;
    const { name = '' } = object.metadata;
    if (old === undefined || !isDying(old)) work.addAfter(name, FIRST_LOOK_MS);
    else work.add(name);
  });
  directory.onChange(() => {
    const served = new Map(
      directory
        .deletable()
        .filter((resource) => resource.namespaced && !IGNORED.has(resourceKey(resource)))
        .map((resource) => [resourceKey(resource), resource]),
    );
    for (const key of caches.keys()) if (!served.has(key)) caches.delete(key);
    for (const [key, resource] of served) {
      if (caches.has(key)) continue;
      const cache = metadataInformer(resource);
      caches.set(key, { resource, cache, in: cache.index((object) => [namespaceOf(object)]) });
      cache.onChange(({ object }) => {
        const name = namespaceOf(object);
        if (isTerminating(name)) work.add(name);
      });
    }
  });
}

/**
 * Deletes the content of a namespace in deletion, and then its finalizer.
 * @see kubernetes pkg/controller/namespace
 */
export const namespaceController: Controller = { name: 'namespace', setup };
