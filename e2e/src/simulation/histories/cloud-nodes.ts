import { Annotations, Labels } from '@mcm/api';
import { ignoreNotFound, type Node, nodes } from '@mcm/kube';
import type { World } from '../world/world.ts';

const EVERY_MS = 60_000;

/** Deletes the Nodes of VMs that no longer exist, as the node controller of a cloud does. */
export async function deleteNodesOfLostVms(world: World, isSelected: (node: Node) => boolean): Promise<void> {
  const resource = world.admin.resource(nodes);
  const vms = new Set(world.vms());
  for (const node of (await resource.list()).items) {
    const { annotations, name } = node.metadata;
    if (annotations?.[Annotations.NotManagedByMCM] === undefined || vms.has(name) || !isSelected(node)) continue;
    await ignoreNotFound(resource.delete(name));
  }
}

/**
 * Simulates the cloud's node controller for Nodes without labels of mcm.
 * @returns a function that stops the node controller.
 */
export function runCloudNodes(world: World): () => void {
  let stopped = false;
  const again = (): void => {
    if (stopped) return;
    const isUnknown = ({ metadata: { labels } }: Node): boolean => labels?.[Labels.MachineName] === undefined;
    deleteNodesOfLostVms(world, isUnknown).catch((error: unknown) => world.reporter.violate(String(error)));
    world.clock.setTimeout(again, EVERY_MS);
  };
  again();
  return () => {
    stopped = true;
  };
}
