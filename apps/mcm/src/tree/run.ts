import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { ifAllowed, readNodes } from '../cluster/allowed.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, reference } from '../cluster/cluster-options.ts';
import { readDeployment } from '../cluster/deployment-reading.ts';
import { type Telling, tell } from '../cluster/told.ts';
import { controllerLines } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';
import { fleetTree, type TreeSource, treeLines } from './tree.ts';

/** `mcm tree`. */
export const tellTree = (deployment: string | undefined, flags: AskFlags, telling: Telling): Promise<void> =>
  inCluster(flags, 'tree', async (cluster) => {
    const unread = new Set<string>();
    const source = await readTree(cluster, deployment, unread);
    const controllers = await readControllers({ ...cluster, ...source, clock: realClock });
    const model = fleetTree(source, controllers);
    const now = realClock.now();
    const before = controllerLines(controllers, now);
    tell(telling, flags.output, { model, unread, before }, (all, wide) => treeLines(all, wide, now));
  });

async function readTree(
  { client, target, namespace }: Cluster,
  text: string | undefined,
  unread: Set<string>,
): Promise<TreeSource> {
  const all = await readNodes(target, unread);
  if (text !== undefined) {
    const { deployment, sets, machines: bySet } = await readDeployment(client, namespace, reference(text).name);
    const owned = [...bySet.values()].flat();
    const names = new Set(owned.map(({ metadata }) => metadata.labels?.node));
    const ours = all?.filter(({ metadata }) => names.has(metadata.name));
    return { deployments: [deployment], sets, machines: owned, nodes: ours };
  }
  const listed = async <T extends KubeObject>(kind: ResourceDefinition<T>): Promise<readonly T[]> =>
    (await ifAllowed(client.resource<T>(kind, namespace).list(), unread))?.items ?? [];
  const [deployments, sets, fleet] = await Promise.all([
    listed<MachineDeployment>(machineDeployments),
    listed<MachineSet>(machineSets),
    listed<Machine>(machines),
  ]);
  return { deployments, sets, machines: fleet, nodes: all };
}
