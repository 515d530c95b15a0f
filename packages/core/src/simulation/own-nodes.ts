import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { pointsTo } from '../node/instance.ts';

/** The Nodes of the simulation, and the problems of machines that shared a Node. Each Node has one machine. */
export interface OwnNodes {
  readonly machines: readonly Machine[];
  readonly problems: readonly string[];
}

/**
 * Assigns each Node to only one machine. An action on a shared Node would count for several machines, so the simulation
 * would repeat the action forever.
 */
export function withOwnNodes(machines: readonly Machine[], nodes: readonly Node[] | undefined): OwnNodes {
  const byName = new Map(nodes?.map((node) => [node.metadata.name, node]));
  const owners = new Map<string, Machine>();
  const claim = (machine: Machine, name: string): number => {
    const node = byName.get(name);
    return (node && pointsTo(node, machine) ? 2 : 0) + (machine.metadata.name === name ? 1 : 0);
  };
  for (const machine of machines) {
    const name = machine.metadata.labels?.[Labels.Node];
    const owner = name && owners.get(name);
    if (name && (!owner || claim(machine, name) > claim(owner, name))) owners.set(name, machine);
  }
  const problems: string[] = [];
  const own = machines.map((machine) => {
    const { [Labels.Node]: name, ...labels } = machine.metadata.labels ?? {};
    const owner = name && owners.get(name);
    if (!owner || owner === machine) return machine;
    problems.push(
      `machine ${machine.metadata.name} refers to node ${name}, but this node belongs to machine ${owner.metadata.name}`,
    );
    return { ...machine, metadata: { ...machine.metadata, labels } };
  });
  return { machines: own, problems };
}
