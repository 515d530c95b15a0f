import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import {
  type ClusterApiCluster,
  FleetAnnotations,
  isForbidden,
  isPausedCluster,
  type KubeClient,
  type KubeObject,
  type Lease,
  leases,
  namespaces,
  type ResourceDefinition,
} from '@mcm/kube';
import { inProfiles } from './profiles.ts';
import type { FleetSource } from './source.ts';
import { clustersWith } from './source-objects.ts';

/** The objects of one cluster of a fleet. */
interface MemberObjects {
  readonly leases: readonly Lease[];
  readonly machines: readonly Machine[];
  readonly deployments: readonly MachineDeployment[];
  readonly sets: readonly MachineSet[];
}

/** A cluster of a fleet, as a command reads it. */
export interface FleetMember extends MemberObjects {
  /** The name of the cluster in the fleet: its namespace in the seed, or its ClusterProfile. */
  readonly cluster: string;
  /** The object of another project that defines the cluster. For a namespace, `object` is undefined. */
  readonly object: string | undefined;
  /** The object that defines the cluster, if the object is being deleted. Otherwise, `deleting` is undefined. */
  readonly deleting: string | undefined;
  /** The reason why the cluster has its own process. */
  readonly handedOver: string | undefined;
  /** The reason why no replica serves the cluster, or why the command cannot read its objects. */
  readonly problem: string;
}

/** The kinds that a command reads. Each value also includes the kinds of the values before it. */
type Depth = 'leases' | 'machines' | 'rollouts';

export interface MemberQuery {
  /** The namespace in which the replicas store their peer Leases. */
  readonly namespace: string;
  readonly source: FleetSource;
  readonly depth: Depth;
}

type Found = Omit<FleetMember, keyof MemberObjects>;

/** Reads the clusters of a fleet with their objects. */
export async function readMembers(
  client: KubeClient,
  { namespace, source, depth }: MemberQuery,
): Promise<readonly FleetMember[]> {
  if (source.flag === 'fleet-cluster-profiles') return profileMembers(client, namespace, source.selector, depth);
  const [found, objects] = await Promise.all([seedMembers(client, source), readObjects(client, undefined, depth)]);
  const of = {
    leases: inNamespace(objects.leases),
    machines: inNamespace(objects.machines),
    deployments: inNamespace(objects.deployments),
    sets: inNamespace(objects.sets),
  };
  return found.map((member) => ({
    ...member,
    leases: of.leases.get(member.cluster) ?? [],
    machines: of.machines.get(member.cluster) ?? [],
    deployments: of.deployments.get(member.cluster) ?? [],
    sets: of.sets.get(member.cluster) ?? [],
  }));
}

const inNamespace = <T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, readonly T[]> =>
  Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? '');

const NOTHING: MemberObjects = { leases: [], machines: [], deployments: [], sets: [] };

async function readObjects(
  client: KubeClient,
  namespace: string | undefined,
  depth: Depth,
  signal?: AbortSignal,
): Promise<MemberObjects> {
  const listed = async <T extends KubeObject>(definition: ResourceDefinition<T>, needed: boolean) =>
    needed ? (await client.resource<T>(definition, namespace).list({ signal })).items : [];
  const [held, all, deployments, sets] = await Promise.all([
    listed<Lease>(leases, true),
    listed<Machine>(machines, depth !== 'leases'),
    listed<MachineDeployment>(machineDeployments, depth === 'rollouts'),
    listed<MachineSet>(machineSets, depth === 'rollouts'),
  ]);
  return { leases: held, machines: all, deployments, sets };
}

/** Returns the clusters that have their own namespace in the seed. */
export async function seedMembers(
  client: KubeClient,
  { flag, selector }: FleetSource,
  signal?: AbortSignal,
): Promise<readonly Found[]> {
  if (flag === 'fleet-namespaces') {
    const { items } = await client.resource(namespaces).list({ labelSelector: selector, signal });
    return items.map((namespace) => foundIn(namespace.metadata.name, namespace));
  }
  const [clusters, all] = await Promise.all([
    clustersWith(client, selector, signal),
    client
      .resource(namespaces)
      .list({ signal })
      .then(({ items }) => items)
      .catch((error: unknown) => {
        if (!isForbidden(error)) throw error;
        return [];
      }),
  ]);
  const byName = new Map(all.map((namespace) => [namespace.metadata.name, namespace]));
  return [...inNamespace(clusters)].map(([name, own]) => ({
    ...foundIn(name, byName.get(name)),
    ...clusterState(own, byName.get(name)),
  }));
}

function foundIn(cluster: string, namespace: KubeObject | undefined): Found {
  const { annotations, deletionTimestamp } = namespace?.metadata ?? {};
  return {
    cluster,
    object: undefined,
    deleting: deletionTimestamp === undefined ? undefined : 'namespace',
    handedOver: annotations?.[FleetAnnotations.HandedOver],
    problem: '',
  };
}

const namesOf = (clusters: readonly ClusterApiCluster[]): string =>
  clusters
    .map(({ metadata }) => metadata.name)
    .sort()
    .join(', ');

/** Returns the state of a member cluster from its `Cluster` objects. As in the fleet, a paused `Cluster` is ignored. */
export function clusterState(
  clusters: readonly ClusterApiCluster[],
  namespace: KubeObject | undefined,
): Pick<Found, 'object' | 'problem' | 'deleting'> {
  const active = clusters.filter((cluster) => !isPausedCluster(cluster));
  const [cluster] = active.length > 0 ? active : clusters;
  const ends = (object: KubeObject | undefined): boolean => object?.metadata.deletionTimestamp !== undefined;
  const name = cluster?.metadata.name ?? '';
  return {
    object: `cluster/${name}`,
    deleting: ends(namespace) ? 'namespace' : ends(cluster) ? `Cluster ${name}` : undefined,
    problem:
      active.length === 0
        ? `the Cluster ${namesOf(clusters)} is paused`
        : active.length > 1
          ? `the namespace contains the Clusters ${namesOf(active)}; select only one Cluster in each namespace`
          : '',
  };
}

async function profileMembers(
  hub: KubeClient,
  namespace: string,
  selector: string,
  depth: Depth,
): Promise<readonly FleetMember[]> {
  const read = await inProfiles(hub, namespace, selector, (opened, signal) =>
    readObjects(opened.client, opened.namespace, depth, signal),
  );
  return read.map(({ profile, value, problem }) => ({
    cluster: profile.metadata.name,
    object: undefined,
    deleting: profile.metadata.deletionTimestamp === undefined ? undefined : 'ClusterProfile',
    handedOver: undefined,
    ...(value ?? NOTHING),
    problem,
  }));
}
