import { resourceKey } from '../runtime/api.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import type { ServedResource } from '../runtime/directory.ts';
import type { Change } from '../runtime/informer.ts';
import { Collector } from './collector.ts';
import {
  describes,
  FOREGROUND,
  Graph,
  type GraphNode,
  isElsewhere,
  ORPHAN,
  subjectOf,
  waitsForDependents,
} from './graph.ts';

/** Resources whose objects come and go too often to be anyone's dependents; the real collector leaves them out as well. */
const IGNORED = new Set(['/events', 'events.k8s.io/events']);

function setup({ api, directory, metadataInformer, drop, queue, recorder }: ControllerContext): void {
  const graph = new Graph();
  const work = queue((uid) => collector.look(uid));
  const collector = new Collector(api, graph, directory, (uid) => work.add(uid));
  const tell = recorder('garbage-collector-controller');

  /** An owner must be in the namespace of its dependents. An owner in another namespace counts as absent and is reported once. */
  const tellElsewhere = (dependent: GraphNode, uid: string): void => {
    const reference = dependent.owners.find((owner) => owner.uid === uid);
    if (reference === undefined) return;
    const { apiVersion, kind, name } = reference;
    const { namespace } = dependent;
    const shown = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    const message = `ownerRef ${shown} does not exist in namespace "${namespace}"`;
    tell(subjectOf(dependent), 'Warning', 'OwnerRefInvalidNamespace', message);
  };

  /** An object that is seen for the first time is not what all of its dependents take it for. */
  const checkDependents = (owner: GraphNode): void => {
    for (const dependent of graph.dependentsOf(owner.uid)) {
      const elsewhere = isElsewhere(owner, dependent);
      if (elsewhere) tellElsewhere(dependent, owner.uid);
      const references = dependent.owners.filter(({ uid }) => uid === owner.uid);
      if (elsewhere || !references.every((one) => describes(one, owner))) work.add(dependent.uid);
    }
  };

  /** Whether an owner is absent, is another object than the reference describes, or is being deleted. Reports the first owner elsewhere. */
  const hasDoubtfulOwner = (node: GraphNode, former: ReadonlySet<string>): boolean => {
    let isDoubtful = false;
    for (const reference of node.owners) {
      const owner = graph.get(reference.uid);
      const elsewhere = owner !== undefined && isElsewhere(owner, node);
      if (elsewhere && !isDoubtful && !former.has(reference.uid)) tellElsewhere(node, reference.uid);
      isDoubtful ||= owner === undefined || elsewhere || !describes(reference, owner) || waitsForDependents(owner);
    }
    return isDoubtful;
  };

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
      const former = new Set((before?.ownerReferences ?? []).map(({ uid }) => uid));
      const isFirst = graph.get(metadata.uid ?? '') === undefined;
      const node = graph.put(object, resource);
      if (isFirst) checkDependents(node);
      for (const uid of former) {
        const owner = graph.get(uid);
        if (owner !== undefined && waitsForDependents(owner)) work.add(uid);
      }
      if (hasDoubtfulOwner(node, former) && !node.dying) work.add(node.uid);
      if (!node.dying) return;
      // Those that do not hold their owner up go as well, before it does.
      const began = before?.deletionTimestamp === undefined || before.finalizers?.includes(FOREGROUND) !== true;
      if (waitsForDependents(node) && began) enqueueDependents(node.uid);
      if (waitsForDependents(node) || node.finalizers.includes(ORPHAN)) work.add(node.uid);
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
  directory.onChange(() => {
    follow();
    collector.retry();
  });
}

/**
 * Deletes what lost its last owner, and carries out foreground and orphaning deletions.
 * @see kubernetes pkg/controller/garbagecollector
 */
export const garbageCollector: Controller = { name: 'garbage-collector', setup };
