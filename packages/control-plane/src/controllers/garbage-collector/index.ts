import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import type { ServedResource } from '../discovery/directory.ts';
import type { Controller, ControllerContext } from '../runtime/controller.ts';
import { Collector } from './collector.ts';
import { Graph } from './graph.ts';
import { GraphUpdates } from './graph-updates.ts';

/**
 * The resources that the garbage collector ignores, as in Kubernetes, because events change often and have no owners.
 */
const IGNORED = new Set(['events', 'events.events.k8s.io']);

function setup({ api, directory, metadataInformer, drop, queue, recorder }: ControllerContext): void {
  const graph = new Graph();
  const work = queue((uid) => collector.look(uid));
  const add = (uid: string): void => work.add(uid);
  const collector = new Collector(api, graph, directory, add);
  const updates = new GraphUpdates(graph, add, recorder('garbage-collector-controller'));
  const watched = new Map<string, { resource: ServedResource; stop: () => void }>();
  const follow = (): void => {
    const served = new Map(
      directory
        .deletable()
        .map((resource) => [qualifiedResource(resource), resource] as const)
        .filter(([key]) => !IGNORED.has(key)),
    );
    for (const [key, { resource, stop }] of watched) {
      if (served.has(key)) continue;
      stop();
      drop(resource);
      watched.delete(key);
      for (const node of graph.of(resource)) updates.removed(node.uid);
    }
    for (const [key, resource] of served) {
      if (watched.has(key)) continue;
      const stop = metadataInformer(resource).onChange((change) => updates.changed(resource, change));
      watched.set(key, { resource, stop });
    }
  };
  directory.onChange(() => {
    follow();
    collector.retry();
  });
}

/**
 * @see kubernetes pkg/controller/garbagecollector
 */
export const garbageCollector: Controller = { name: 'garbage-collector', setup };
