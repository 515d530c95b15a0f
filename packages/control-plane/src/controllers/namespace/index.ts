import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';

import { NAMESPACES } from '../client/resources.ts';
import type { ServedResource } from '../discovery/directory.ts';
import { isDying, namespaceOf } from '../objects/fields.ts';
import { namespaceWords } from '../objects/index-words.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { NamespaceWriter } from './apply.ts';
import type { Content } from './conditions.ts';

/**
 * The delay before the first deletion of content. Kubernetes waits five seconds until all API servers know about the
 * deleted namespace, but this control plane has only one API server.
 */
const FIRST_LOOK_MS = 300;
const IGNORED = new Set(['events.events.k8s.io']);

function setup({ api, clock, directory, informer, metadataInformer, queue }: ControllerContext): void {
  const namespaces = informer(NAMESPACES);
  const writer = new NamespaceWriter(api, clock);
  const caches = new Map<string, { resource: ServedResource; in: (namespace: string) => ApiObject[] }>();

  const contentOf = (name: string): Content[] =>
    [...caches.values()]
      .map(({ resource, in: within }) => ({ resource, objects: within(name) }))
      .filter(({ objects }) => objects.length > 0);

  const work = queue(async (name) => {
    const namespace = namespaces.get(name);
    const resources = [...caches.values()].map(({ resource }) => resource);
    if (namespace !== undefined) await writer.sync(namespace, contentOf(name), resources);
  });

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
        .filter((resource) => resource.namespaced && !IGNORED.has(qualifiedResource(resource)))
        .map((resource) => [qualifiedResource(resource), resource]),
    );
    for (const key of caches.keys()) if (!served.has(key)) caches.delete(key);
    for (const [key, resource] of served) {
      if (caches.has(key)) continue;
      const cache = metadataInformer(resource);
      caches.set(key, { resource, in: cache.index(namespaceWords) });
      cache.onChange(({ object }) => {
        const name = namespaceOf(object);
        const namespace = namespaces.get(name);
        if (namespace !== undefined && isDying(namespace)) work.add(name);
      });
    }
  });
}

/**
 * @see kubernetes pkg/controller/namespace
 */
export const namespaceController: Controller = { name: 'namespace', setup };
