import { type KubeClient, withoutUndefined } from '@mcm/kube';
import { replicaRows } from '../fleet/actions.ts';
import { type ClusterQuery, type ClusterRow, holdersOf, rowsOf } from '../fleet/clusters.ts';
import { readMembers } from '../members/members.ts';
import { type Branch, fleetTree } from './tree.ts';

/** Removes the Nodes from the tree. The Nodes of the clusters are unknown, because the command reads only the seed. */
const withoutNodes = (branches: readonly Branch[]): readonly Branch[] =>
  branches
    .filter(({ kind }) => kind !== 'Node')
    .map((branch) => ({ ...branch, children: withoutNodes(branch.children) }));

const hasProblem = ({ problem, children }: Branch): boolean => problem !== undefined || children.some(hasProblem);

function branchOfCluster(
  { cluster, object, manager, controller, machines: total, running, problem }: ClusterRow,
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
    more: withoutUndefined({ object, manager, controller }),
    children: opens ? objects : [],
  });
}

/**
 * Returns the tree of a fleet: its clusters with their objects. For a cluster without a problem, the tree contains its
 * objects only with `all`.
 */
export async function clusterTree(
  client: KubeClient,
  { namespace, source, now }: ClusterQuery,
  { all }: { readonly all: boolean },
): Promise<readonly Branch[]> {
  const members = await readMembers(client, { namespace, source, depth: 'rollouts' });
  const rows = rowsOf(members, await replicaRows(client, namespace, now, holdersOf(members)), now);
  const byName = new Map(members.map((member) => [member.cluster, member]));
  const branches = rows.map((row) => {
    const { deployments = [], sets = [], machines = [] } = byName.get(row.cluster) ?? {};
    const own = { deployments, sets, machines, nodes: undefined };
    return branchOfCluster(row, withoutNodes(fleetTree(own, { all })), all);
  });
  return branches.toSorted((a, b) => Number(hasProblem(b)) - Number(hasProblem(a)));
}
