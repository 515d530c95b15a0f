import { resourceKey } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { ServedResource } from '../runtime/directory.ts';
import type { Change } from '../runtime/informer.ts';
import { Collector } from './collector.ts';
import { Graph, ORPHAN, waitsForDependents } from './graph.ts';

/** Resources whose objects come and go too often to be anyone's dependents; the real collector leaves them out as well. */
const IGNORED = new Set(['/events', 'events.k8s.io/events']);

function setup({ api, directory, metadataInformer, drop, queue, recorder }: ControllerContext): void {
  const graph = new Graph();
  const work = queue((uid) => collector.look(uid));
  const collector = new Collector(
    api,
    graph,
    directory,
    (uid) => work.add(uid),
    recorder('garbage-collector-controller'),
  );

  const enqueueDependents = (uid: string): void => {
    for (const dependent of graph.dependentsOf(uid)) work.add(dependent.uid);
  };

  const removed = (uid: string): void => {
    const owners = graph.remove(uid);
    enqueueDependents(uid);
    for (const owner of owners) {
      const known = graph.get(owner.uid);
      if (known !== undefined && waitsForDependents(known)) work.add(owner.uid);
    }
  };

  const changed =
    (resource: ServedResource) =>
    ({ type, object, old }: Change): void => {
      if (type === 'deleted') {
        removed(object.metadata.uid ?? '');
        return;
      }
      const before = old?.metadata;
      const { metadata } = object;
      const isNew = before === undefined;
      const same =
        !isNew &&
        before.deletionTimestamp === metadata.deletionTimestamp &&
        JSON.stringify(before.ownerReferences) === JSON.stringify(metadata.ownerReferences) &&
        JSON.stringify(before.finalizers) === JSON.stringify(metadata.finalizers);
      if (same) return;
      // Owners that lost this dependent may have waited for it.
      const former = isNew ? [] : (before.ownerReferences ?? []);
      const node = graph.put(object, resource);
      for (const { uid } of former) {
        const owner = graph.get(uid);
        if (owner !== undefined && waitsForDependents(owner)) work.add(uid);
      }
      if (node.dying && (waitsForDependents(node) || node.finalizers.includes(ORPHAN))) {
        work.add(node.uid);
        return;
      }
      if (node.dying) return;
      const needsLook = node.owners.some(({ uid }) => {
        const owner = graph.get(uid);
        if (owner === undefined || waitsForDependents(owner)) return true;
        const isElsewhere = owner.namespace !== '' && owner.namespace !== node.namespace;
        return isElsewhere || owner.resource.kind === '';
      });
      if (needsLook) work.add(node.uid);
    };

  const watched = new Map<string, { resource: ServedResource; stop: () => void }>();
  const follow = (): void => {
    const served = new Map(
      directory
        .deletable()
        .map((resource) => [resourceKey(resource), resource] as const)
        .filter(([key]) => !IGNORED.has(key)),
    );
    for (const [key, { resource, stop }] of watched) {
      if (served.has(key)) continue;
      stop();
      drop(resource);
      watched.delete(key);
      for (const node of graph.of(resource)) removed(node.uid);
    }
    for (const [key, resource] of served) {
      if (watched.has(key)) continue;
      watched.set(key, { resource, stop: metadataInformer(resource).onChange(changed(resource)) });
    }
  };
  directory.onChange(follow);
}

/**
 * Deletes what lost its last owner, and carries out foreground and orphaning deletions.
 * @see kubernetes pkg/controller/garbagecollector
 */
export const garbageCollector: Controller = { name: 'garbage-collector', setup };
