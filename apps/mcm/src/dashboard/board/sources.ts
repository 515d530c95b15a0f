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
  namespaces,
  nodes,
  silentLogger,
} from '@mcm/kube';
import { type MachineConfigPool, machineConfigPools } from '@mcm/machine-config';
import { GapKeeper, type Gaps } from './gaps.ts';

/** Caches of the objects of a fleet, which watches keep up to date. */
export interface Sources {
  readonly deployments: Informer<MachineDeployment>;
  readonly sets: Informer<MachineSet>;
  readonly machines: Informer<Machine>;
  readonly classes: Informer<MachineClass>;
  readonly events: Informer<EventObject>;
  readonly nodes: Informer<Node>;
  /** If the CRD does not exist, the list stays empty and is not reported as missing data. */
  readonly pools: Informer<MachineConfigPool>;
  /** The namespaces of the clusters of a fleet. Without a fleet, no watch runs, and the list stays empty. */
  readonly clusters: Informer<KubeObject>;
  /** The Leases in the namespace of the peer Leases of a fleet. Without a fleet, the list stays empty. */
  readonly peers: Informer<Lease>;
  /**
   * Returns the machines of a set, by the UID of the set. The cost of the lookup depends only on the size of the
   * result.
   */
  machinesOf(setUid: string): readonly Machine[];
  /** Returns the machines that are being deleted. The cost depends only on the size of the result. */
  going(): readonly Machine[];
  /**
   * Disruption budgets and circuit breakers. Each budget applies to one namespace, so `guards` is undefined if all
   * namespaces are watched.
   */
  readonly guards: GuardsAt | undefined;
  gaps(): Gaps;
  /** Starts all watches. Register the change handlers first. */
  run(): void;
}

export interface SourceOptions {
  readonly client: KubeClient;
  readonly target: KubeClient;
  /** The namespace to watch, or undefined for all namespaces. */
  readonly namespace: string | undefined;
  /**
   * The labels of the namespaces of a fleet. In a fleet, the nodes are in other clusters, so no nodes and no pools are
   * watched.
   */
  readonly fleet: string | undefined;
  /** The namespace of the peer Leases of a fleet. */
  readonly peersIn: string;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  /** Called when a kind is read for the first time, when its read is refused, or when its watch ends. */
  readonly onGap: () => void;
}

const INDEXES = {
  owner: (machine: Machine): readonly string[] => {
    const uid = controllerOf(machine)?.uid;
    return uid === undefined ? [] : [uid];
  },
  class: ({ metadata, spec }: Machine): readonly string[] => [`${metadata.namespace ?? ''}/${spec.class?.name ?? ''}`],
  node: ({ metadata }: Machine): readonly string[] => (metadata.labels?.node ? [metadata.labels.node] : []),
  going: ({ metadata }: Machine): readonly string[] => (metadata.deletionTimestamp === undefined ? [] : ['yes']),
};

/** Removes images and volumes, which make up most of a Node. The page does not show images and volumes. */
const lean = ({ status, ...node }: Node): Node => ({
  ...node,
  status: status?.conditions ? { conditions: status.conditions } : {},
});

export function watchSources(options: SourceOptions): Sources {
  const { client, target, namespace, fleet, peersIn, runtime, signal, onGap } = options;
  const keeper = new GapKeeper(runtime.clock, onGap);
  const watching = { ...runtime, outage: keeper.outage };
  const common = { ...watching, namespace };
  const kinds = {
    deployments: createInformer<MachineDeployment>(client, machineDeployments, common),
    sets: createInformer<MachineSet>(client, machineSets, common),
    machines: createInformer<Machine>(client, machines, { ...common, indexes: INDEXES }),
    classes: createInformer<MachineClass>(client, machineClasses, common),
    // Events of pods are not watched, because most events of a cluster are events of pods.
    events: createInformer<EventObject>(client, events, { ...common, fieldSelector: 'involvedObject.kind!=Pod' }),
  };
  const hosts = createInformer<Node>(target, nodes, { ...watching, project: lean });
  const clusters = createInformer<KubeObject>(client, namespaces, { ...watching, labelSelector: fleet });
  const peers = createInformer<Lease>(client, leases, { ...watching, namespace: peersIn });
  const pools = createInformer<MachineConfigPool>(target, machineConfigPools, { ...runtime, log: silentLogger });
  const others = fleet === undefined ? [hosts] : [clusters, peers];
  const needed = [...Object.values(kinds), ...others] as readonly Informer<KubeObject>[];
  // Returns true if the class exists. If the user may not read classes, the page cannot report a missing class, so the
  // result is true.
  const hasClass = (name: string): boolean =>
    kinds.classes.store.get(`${namespace}/${name}`) !== undefined ||
    !kinds.classes.synced ||
    kinds.classes.refused !== undefined;
  for (const informer of [...needed, pools as Informer<KubeObject>]) {
    informer.onRefused(onGap);
    // If the list of objects is empty, no change event follows. The page must still show that the list was read.
    informer.whenSynced(signal).then(onGap, () => undefined);
  }
  return {
    ...kinds,
    nodes: hosts,
    clusters,
    peers,
    pools,
    run: () => {
      const more = fleet === undefined ? [pools as Informer<KubeObject>] : [];
      for (const informer of [...needed, ...more]) void informer.run(signal);
    },
    machinesOf: (setUid) => kinds.machines.store.byIndex('owner', setUid),
    going: () => kinds.machines.store.byIndex('going', 'yes'),
    guards: namespace === undefined ? undefined : watchGuards({ ...kinds, nodes: hosts }, hasClass),
    gaps: () => keeper.of(needed),
  };
}
