import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type KubeClient, type KubeObject, withoutUndefined } from '@mcm/kube';
import { type ClusterQuery, type ClusterRow, clusterRows } from '../fleet/clusters.ts';
import { type Branch, fleetTree } from './tree.ts';

const inNamespace = <T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? '');

/** Removes the Nodes from the tree. The Nodes of the clusters are unknown, because the command reads only the seed. */
const withoutNodes = (branches: readonly Branch[]): readonly Branch[] =>
  branches
    .filter(({ kind }) => kind !== 'Node')
    .map((branch) => ({ ...branch, children: withoutNodes(branch.children) }));

const hasProblem = ({ problem, children }: Branch): boolean => problem !== undefined || children.some(hasProblem);

function branchOfCluster(
  { cluster, manager, controller, machines: total, running, problem }: ClusterRow,
  objects: readonly Branch[],
  all: boolean,
): Branch {
  const opens = all || problem !== '' || objects.some(hasProblem);
  return withoutUndefined({
    kind: 'Cluster' as const,
    name: cluster,
    state: `${running}/${total} machines Running`,
    numbers: { machines: total, running },
    problem: problem || undefined,
    more: { manager, controller },
    children: opens ? objects : [],
  });
}

/**
 * Returns the tree of a fleet: its clusters with their objects. The clusters with a problem are first. For a cluster
 * without a problem, objects are shown only with `all`.
 */
export async function clusterTree(
  client: KubeClient,
  query: ClusterQuery,
  { all }: { readonly all: boolean },
): Promise<readonly Branch[]> {
  const [deployments, sets, fleet] = await Promise.all([
    client.resource<MachineDeployment>(machineDeployments).list(),
    client.resource<MachineSet>(machineSets).list(),
    client.resource<Machine>(machines).list(),
  ]);
  const rows = await clusterRows(client, { ...query, machines: fleet.items });
  const [ofDeployments, ofSets, ofMachines] = [
    inNamespace(deployments.items),
    inNamespace(sets.items),
    inNamespace(fleet.items),
  ];
  const branches = rows.map((row) => {
    const own = {
      deployments: ofDeployments.get(row.cluster) ?? [],
      sets: ofSets.get(row.cluster) ?? [],
      machines: ofMachines.get(row.cluster) ?? [],
      nodes: undefined,
    };
    return branchOfCluster(row, withoutNodes(fleetTree(own, { all })), all);
  });
  return branches.toSorted((a, b) => Number(hasProblem(b)) - Number(hasProblem(a)));
}
