import {
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type GuardsAt, watchGuards } from '@mcm/core';
import type { ClusterRow } from '@mcm/dashboard';
import {
  controllerOf,
  createInformer,
  type EventObject,
  events,
  type Informer,
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
  type Lease,
  leases,
  type Node,
  nodes,
  silentLogger,
} from '@mcm/kube';
import { type MachineConfigPool, machineConfigPools } from '@mcm/machine-config';
import { type ClusterSource, NO_CLUSTERS } from './clusters.ts';
import { GapKeeper, type Gaps } from './gaps.ts';

export interface Sources {
  readonly deployments: Informer<MachineDeployment>;
  readonly sets: Informer<MachineSet>;
  readonly machines: Informer<Machine>;
  readonly classes: Informer<MachineClass>;
  readonly events: Informer<EventObject>;
  readonly nodes: Informer<Node>;
  readonly pools: Informer<MachineConfigPool>;
  /** The objects of the clusters in a fleet. */
  readonly clusters: Informer<KubeObject>;
  /** Returns the name by which the fleet knows the cluster of an object in `clusters`. */
  readonly clusterOf: (object: KubeObject) => string;
  /** Returns the row of a cluster. */
  readonly clusterRow: (cluster: string, unreachable: string) => ClusterRow | undefined;
  /** The Leases by which the replicas of a fleet find each other. */
  readonly peers: Informer<Lease>;
  machinesOf(setUid: string): readonly Machine[];
  /** Returns the machines that are being deleted. */
  going(): readonly Machine[];
  /** A disruption budget belongs to one namespace, so `guards` is undefined if all namespaces are watched. */
  readonly guards: GuardsAt | undefined;
  gaps(): Gaps;
  /** Starts the watches. The caller must register the handlers of changes before this call. */
  run(): void;
}

export interface SourceOptions {
  readonly client: KubeClient;
  readonly target: KubeClient;
  readonly namespace: string | undefined;
  /**
   * The objects of the clusters in a fleet. In a fleet, nodes and pools are in other clusters, so they are not watched.
   */
  readonly clusters: ClusterSource | undefined;
  /** The namespace in which the replicas of a fleet store their Leases. */
  readonly peersIn: string;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  readonly onGap: () => void;
}

const BY_CLUSTER = 'cluster';

const INDEXES = {
  owner: (machine: Machine): readonly string[] => {
    const uid = controllerOf(machine)?.uid;
    return uid === undefined ? [] : [uid];
  },
  class: ({ metadata, spec }: Machine): readonly string[] => [`${metadata.namespace ?? ''}/${spec.class?.name ?? ''}`],
  node: ({ metadata }: Machine): readonly string[] => (metadata.labels?.node ? [metadata.labels.node] : []),
  going: ({ metadata }: Machine): readonly string[] => (metadata.deletionTimestamp === undefined ? [] : ['yes']),
};

const lean = ({ status, ...node }: Node): Node => ({
  ...node,
  status: status?.conditions ? { conditions: status.conditions } : {},
});

export function watchSources(options: SourceOptions): Sources {
  const { client, target, namespace, clusters: wanted, peersIn, runtime, signal, onGap } = options;
  const keeper = new GapKeeper(runtime.clock, onGap);
  const watching = { ...runtime, outage: keeper.outage };
  const common = { ...watching, namespace };
  const kinds = {
    deployments: createInformer<MachineDeployment>(client, machineDeployments, common),
    sets: createInformer<MachineSet>(client, machineSets, common),
    machines: createInformer<Machine>(client, machines, { ...common, indexes: INDEXES }),
    classes: createInformer<MachineClass>(client, machineClasses, common),
    // The dashboard does not watch events of pods, because most events in a cluster are events of pods.
    events: createInformer<EventObject>(client, events, { ...common, fieldSelector: 'involvedObject.kind!=Pod' }),
  };
  const hosts = createInformer<Node>(target, nodes, { ...watching, project: lean });
  const { definition, clusterOf, rowOf, ...selected } = wanted ?? NO_CLUSTERS;
  const indexes = { [BY_CLUSTER]: (object: KubeObject) => [clusterOf(object)] };
  const clusters = createInformer<KubeObject>(client, definition, { ...watching, ...selected, indexes });
  const peers = createInformer<Lease>(client, leases, { ...watching, namespace: peersIn });
  const pools = createInformer<MachineConfigPool>(target, machineConfigPools, { ...runtime, log: silentLogger });
  const others = wanted === undefined ? [hosts] : [clusters, peers];
  const needed = [...Object.values(kinds), ...others] as readonly Informer<KubeObject>[];
  // Returns true if a class exists. If the user may not read classes, the result is true, because the dashboard cannot
  // know that a class is missing.
  const hasClass = (name: string): boolean =>
    kinds.classes.store.get(`${namespace}/${name}`) !== undefined ||
    !kinds.classes.synced ||
    kinds.classes.refused !== undefined;
  for (const informer of [...needed, pools as Informer<KubeObject>]) {
    informer.onRefused(onGap);
    // If no objects exist, the first list causes no change event. Therefore, the end of the first list is reported
    // separately.
    informer.whenSynced(signal).then(onGap, () => undefined);
  }
  return {
    ...kinds,
    nodes: hosts,
    clusters,
    clusterOf,
    clusterRow: (cluster, unreachable) => rowOf(cluster, clusters.store.byIndex(BY_CLUSTER, cluster), unreachable),
    peers,
    pools,
    run: () => {
      const more = wanted === undefined ? [pools as Informer<KubeObject>] : [];
      for (const informer of [...needed, ...more]) void informer.run(signal);
    },
    machinesOf: (setUid) => kinds.machines.store.byIndex('owner', setUid),
    going: () => kinds.machines.store.byIndex('going', 'yes'),
    guards: namespace === undefined ? undefined : watchGuards({ ...kinds, nodes: hosts }, hasClass),
    gaps: () => keeper.of(needed),
  };
}
