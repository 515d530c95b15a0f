import {
  formatTime,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type KubeObject, type ResourceDefinition, realClock } from '@mcm/kube';
import { ifAllowed, readNodes } from '../cluster/allowed.ts';
import { type Telling, tell } from '../cluster/answers.ts';
import { type Cluster, inCluster } from '../cluster/cluster.ts';
import { type AskFlags, nameOf } from '../cluster/cluster-options.ts';
import { readDeployment } from '../cluster/deployment-reading.ts';
import { type Following, reportOrFollow, withoutDurations } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { type ControllerHealth, controllerLines } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';
import { type FleetSource, noClusterText, readSource } from '../members/source.ts';
import { eachFormatted } from '../output/format.ts';
import { clusterTree } from './clusters.ts';
import { followTree } from './follow.ts';
import { nodesOf, ofDeployments } from './narrow.ts';
import { type Branch, fleetTree, type TreeSource, treeLines } from './tree.ts';

export type TreeFlags = AskFlags & {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly all?: true;
  readonly watch?: true;
  readonly fleet?: true | string;
};

export const reportTree = (
  deployment: string | undefined,
  flags: TreeFlags,
  telling: Telling & Pick<CommandEnvironment, 'signal' | 'random'>,
): Promise<void> =>
  inCluster(flags, 'tree', async (cluster) => {
    const unread = new Set<string>();
    const { allNamespaces = false, all = false, fleet } = flags;
    if (fleet !== undefined) return tellFleet(cluster, fleet === true ? undefined : fleet, flags, telling);
    if (flags.watch) return watchTree(cluster, deployment, flags, telling);
    const source =
      deployment === undefined
        ? await readTree(cluster, flags, unread)
        : await readOne(cluster, nameOf('MachineDeployment', deployment), unread);
    const health = await healthOf(cluster, source, allNamespaces);
    const controllersIn = (namespace: string): readonly ControllerHealth[] => health.get(namespace) ?? [];
    const model = fleetTree(source, { controllersIn, allNamespaces, all });
    const now = realClock.now();
    const place = allNamespaces ? undefined : cluster.namespace;
    const before = controllerLines([...health.values()].flat(), now);
    tell(telling, flags.output, { model, unread, before }, (reported, wide) => treeLines(reported, wide, now, place));
  });

function tellFleet(
  { client, namespace }: Cluster,
  selector: string | undefined,
  flags: TreeFlags,
  telling: Following,
): Promise<void> {
  let source: FleetSource | undefined;
  const linesOf = (model: readonly Branch[], wide: boolean): readonly string[] =>
    model.length === 0 && source !== undefined ? [noClusterText(source)] : treeLines(model, wide, realClock.now());
  const isText = flags.output === 'text' || flags.output === 'wide';
  return reportOrFollow(telling, flags, {
    read: async () => {
      source = await readSource(client, namespace, selector);
      return clusterTree(client, { namespace, source, now: realClock.now() }, { all: flags.all === true });
    },
    text: linesOf,
    // The text does not contain all fields of the model, so mcm compares the text to detect changes.
    watched: (model) => withoutDurations(isText ? linesOf(model, flags.output === 'wide') : model),
  });
}

async function watchTree(
  cluster: Cluster,
  deployment: string | undefined,
  { output, allNamespaces, all, selector }: TreeFlags,
  telling: Telling & Pick<CommandEnvironment, 'signal' | 'random'>,
): Promise<void> {
  const name = deployment === undefined ? undefined : nameOf('MachineDeployment', deployment);
  // If the deployment does not exist, the command ends with an error instead of an empty tree.
  if (name !== undefined) await readDeployment(cluster.client, cluster.namespace, name);
  const scope = {
    allNamespaces: allNamespaces === true,
    all: all === true,
    selector,
    name,
  };
  const options = { ...scope, clock: realClock, random: telling.random, signal: telling.signal() };
  let isFirst = true;
  await followTree(cluster, options, ({ model, health }) => {
    const now = realClock.now();
    const separator = isFirst || output === 'json' || output === 'yaml' ? [] : ['', formatTime(now)];
    isFirst = false;
    const head = controllerLines(health, now);
    const lines = [
      ...separator,
      ...head,
      ...treeLines(model, output === 'wide', now, allNamespaces ? undefined : cluster.namespace),
    ];
    const text = output === 'json' || output === 'yaml' ? [''] : lines.map(telling.draw);
    for (const line of text.flatMap((one) => eachFormatted(output, model, one))) telling.say(line);
  });
}

async function healthOf(
  { client, namespace, programs }: Cluster,
  { deployments, machines: fleet }: TreeSource,
  allNamespaces: boolean,
): Promise<ReadonlyMap<string, readonly ControllerHealth[]>> {
  const isIn = (name: string) => (object: KubeObject) => !allNamespaces || object.metadata.namespace === name;
  const names = allNamespaces
    ? [...new Set([...deployments, ...fleet].map(({ metadata }) => metadata.namespace ?? ''))].sort()
    : [namespace];
  const health = names.map(async (name) => {
    const objects = { deployments: deployments.filter(isIn(name)), machines: fleet.filter(isIn(name)) };
    return [name, await readControllers({ client, namespace: name, clock: realClock, ...objects, programs })] as const;
  });
  return new Map(await Promise.all(health));
}

async function readOne({ client, target, namespace }: Cluster, name: string, unread: Set<string>): Promise<TreeSource> {
  const all = await readNodes(target, unread);
  const { deployment, sets, machines: bySet } = await readDeployment(client, namespace, name);
  const owned = [...bySet.values()].flat();
  return { deployments: [deployment], sets, machines: owned, nodes: nodesOf(owned, all) };
}

/** Returns the objects of one namespace or of all namespaces. */
async function readTree(
  { client, target, namespace }: Cluster,
  { allNamespaces, selector }: TreeFlags,
  unread: Set<string>,
): Promise<TreeSource> {
  const within = allNamespaces ? undefined : namespace;
  const listed = async <T extends KubeObject>(kind: ResourceDefinition<T>, options = {}) =>
    (await ifAllowed(client.resource<T>(kind, within).list(options), unread))?.items;
  const [deployments, sets, fleet, nodes] = await Promise.all([
    listed<MachineDeployment>(machineDeployments, selector === undefined ? {} : { labelSelector: selector }),
    listed<MachineSet>(machineSets),
    listed<Machine>(machines),
    readNodes(target, unread),
  ]);
  // If mcm cannot read deployments, sets and machines, this request throws the error, because the tree would look like
  // an empty namespace.
  if (!deployments && !sets && !fleet) await client.resource(machineDeployments, within).list();
  const source = { deployments: deployments ?? [], sets: sets ?? [], machines: fleet ?? [], nodes };
  return selector === undefined ? source : ofDeployments(source);
}
