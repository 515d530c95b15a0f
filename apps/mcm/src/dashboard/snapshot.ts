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
  type Node,
  nodes,
} from '@mcm/kube';
import { GapKeeper, type Gaps } from './gaps.ts';
import { MachineOrder, machineMood } from './page/machine-order.ts';

/** The input of the pages, from the caches of the watches. */
export interface Snapshot {
  readonly deployments: readonly MachineDeployment[];
  readonly sets: readonly MachineSet[];
  readonly machines: readonly Machine[];
  readonly classes: readonly MachineClass[];
  readonly order: Pick<MachineOrder, 'first' | 'phases'>;
  /** A Node of the target cluster by name. Undefined until Nodes were read, or if they may not be read. */
  readonly nodeOf: ((name: string) => Node | undefined) | undefined;
  /** Unordered. */
  readonly events: readonly EventObject[];
  readonly gaps: Gaps;
}

/** A live copy of one namespace's fleet. */
export interface FleetSource {
  snapshot(): Snapshot;
  /** Machines of a set, by the UID of the set. Costs their number. */
  machinesOf(setUid: string): readonly Machine[];
  /** Machines that are being deleted. Costs their number. */
  going(): readonly Machine[];
  machine(name: string): Machine | undefined;
  machineClass(name: string): MachineClass | undefined;
  /** The guards of the controllers for the watched fleet. The cost does not depend on the size of the fleet. */
  readonly guards: GuardsAt;
  /** Calls back after each change. */
  onChange(handler: () => void): () => void;
}

/** The clients and the namespace of a fleet. */
export interface FleetSourceOptions {
  readonly client: KubeClient;
  /** Client for the target cluster. */
  readonly target: KubeClient;
  readonly namespace: string;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
}

const INDEXES = {
  owner: (machine: Machine): readonly string[] => {
    const uid = controllerOf(machine)?.uid;
    return uid === undefined ? [] : [uid];
  },
  mood: (machine: Machine): readonly string[] => [machineMood(machine)],
  going: ({ metadata }: Machine): readonly string[] => (metadata.deletionTimestamp === undefined ? [] : ['yes']),
};

/** Drops images and volumes, which are most of a Node and are not shown. */
const lean = ({ status, ...node }: Node): Node => ({
  ...node,
  status: status?.conditions ? { conditions: status.conditions } : {},
});

/** Watches a namespace until the signal aborts. */
export function watchFleetSource({ client, target, namespace, runtime, signal }: FleetSourceOptions): FleetSource {
  const handlers = new Set<() => void>();
  const changed = (): void => {
    for (const handler of handlers) handler();
  };
  const gaps = new GapKeeper(runtime.clock, changed);
  const watching = { ...runtime, outage: gaps.outage };
  const common = { ...watching, namespace };
  const kinds = {
    deployments: createInformer<MachineDeployment>(client, machineDeployments, common),
    sets: createInformer<MachineSet>(client, machineSets, common),
    machines: createInformer<Machine>(client, machines, { ...common, indexes: INDEXES }),
    classes: createInformer<MachineClass>(client, machineClasses, common),
    events: createInformer<EventObject>(client, events, common),
    nodes: createInformer<Node>(target, nodes, { ...watching, project: lean }),
  };
  const all: readonly Informer<KubeObject>[] = Object.values(kinds) as readonly Informer<KubeObject>[];
  const order = new MachineOrder(kinds.machines);
  const machineClass = (name: string): MachineClass | undefined => kinds.classes.store.get(`${namespace}/${name}`);
  // Without access to classes, a missing class is not known to be missing.
  const classesAreKnown = (): boolean => kinds.classes.synced && kinds.classes.refused === undefined;
  const guards = watchGuards(kinds, (name) => machineClass(name) !== undefined || !classesAreKnown());
  for (const informer of all) {
    informer.onChange(changed);
    informer.onRefused(changed);
    void informer.run(signal);
    // An empty kind causes no change event, but its first read must redraw the page.
    informer.whenSynced(signal).then(changed, () => undefined); // It rejects when the signal aborts, after which no page is drawn.
  }
  return {
    snapshot: () => ({
      deployments: kinds.deployments.store.list(),
      sets: kinds.sets.store.list(),
      machines: kinds.machines.store.list(),
      classes: kinds.classes.store.list(),
      order,
      nodeOf: kinds.nodes.synced ? (name) => kinds.nodes.store.get(name) : undefined,
      events: kinds.events.store.list(),
      gaps: gaps.of(all),
    }),
    machinesOf: (setUid) => kinds.machines.store.byIndex('owner', setUid),
    going: () => kinds.machines.store.byIndex('going', 'yes'),
    machine: (name) => kinds.machines.store.get(`${namespace}/${name}`),
    machineClass,
    guards,
    onChange(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
  };
}
