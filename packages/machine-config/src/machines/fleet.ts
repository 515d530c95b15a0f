import {
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import {
  controllerOf,
  createInformer,
  type Informer,
  type InformerOptions,
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
  type Node,
  type ResourceDefinition,
} from '@mcm/kube';
import type { MachineConfigPool, MachineRef } from '../kinds/machine-config-pool.ts';
import { referencesOf } from '../server/machines.ts';
import { MachineAccess } from './access.ts';
import { awaitedBy, pausedBy } from './holds.ts';

/** The caches of machines in the cluster of the MachineConfigs. */
export interface MachineCaches {
  readonly machines: Informer<Machine>;
  readonly sets: Informer<MachineSet>;
  readonly deployments: Informer<MachineDeployment>;
  readonly access: MachineAccess;
}

export const HELD_BY = 'heldBy';

const OWNER = 'owner';
const NODE = 'node';
const ownerTerms = (object: KubeObject): readonly string[] => [controllerOf(object)?.uid ?? []].flat();

/** Creates the caches of machines, for pools that refer to machines. */
export function createMachineCaches(client: KubeClient, runtime: InformerRuntime): MachineCaches {
  const access = new MachineAccess();
  const live = <T extends KubeObject>(kind: ResourceDefinition<T>, indexes: InformerOptions<T>['indexes']) =>
    access.unlessRefused(createInformer(client, kind, { ...runtime, indexes, onAccess: access.noteOf(kind.plural) }));
  return {
    machines: live(machines, {
      [OWNER]: ownerTerms,
      [NODE]: ({ metadata }) => [metadata.labels?.[Labels.Node] ?? []].flat(),
    }),
    sets: live(machineSets, { [OWNER]: ownerTerms }),
    deployments: live(machineDeployments, {
      [HELD_BY]: (deployment) => [...new Set([pausedBy(deployment), awaitedBy(deployment)])].filter(Boolean),
    }),
    access,
  };
}

/** Finds machines by their owners, and owners by their machines. */
export interface MachineFleet {
  resolve(ref: MachineRef): ResolvedRef | undefined;
  /** Returns the machines of a node. */
  machinesOf(nodeName: string): readonly Machine[];
  poolsOf(machine: Machine, pools: readonly MachineConfigPool[]): readonly MachineConfigPool[];
}

/** The object to which a reference points. */
export interface ResolvedRef {
  readonly deployment?: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: readonly Machine[];
  readonly replicas: number;
}

export interface PoolRef {
  readonly ref: MachineRef;
  readonly found: ResolvedRef | undefined;
}

/** Returns the name of the Node, or '' if the machine has no Node yet. */
export const nodeNameOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

interface FleetSource {
  machinesOfSet(uid: string): readonly Machine[];
  machinesOfNode(nodeName: string): readonly Machine[];
  setsOfDeployment(uid: string): readonly MachineSet[];
  set(key: string): MachineSet | undefined;
  deployment(key: string): MachineDeployment | undefined;
}

/** Creates the lookups of machines. The cost of a lookup of machines does not depend on the machines of other pools. */
export const machineFleet = ({ machines: all, sets, deployments }: MachineCaches): MachineFleet =>
  fleetOf({
    machinesOfSet: (uid) => all.store.byIndex(OWNER, uid),
    machinesOfNode: (nodeName) => all.store.byIndex(NODE, nodeName),
    setsOfDeployment: (uid) => sets.store.byIndex(OWNER, uid),
    set: (key) => sets.store.get(key),
    deployment: (key) => deployments.store.get(key),
  });

/** Returns lookups that search lists, for programs without caches. */
export function listedFleet(lists: {
  readonly machines: readonly Machine[];
  readonly sets: readonly MachineSet[];
  readonly deployments: readonly MachineDeployment[];
}): MachineFleet {
  const keyed = <T extends KubeObject>(list: readonly T[]) =>
    new Map(list.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]));
  const machinesBy = Map.groupBy(lists.machines, (machine) => controllerOf(machine)?.uid ?? '');
  const ofNodes = Map.groupBy(lists.machines, nodeNameOf);
  const setsBy = Map.groupBy(lists.sets, (set) => controllerOf(set)?.uid ?? '');
  const [sets, deployments] = [keyed(lists.sets), keyed(lists.deployments)];
  return fleetOf({
    machinesOfSet: (uid) => machinesBy.get(uid) ?? [],
    machinesOfNode: (nodeName) => ofNodes.get(nodeName) ?? [],
    setsOfDeployment: (uid) => setsBy.get(uid) ?? [],
    set: (key) => sets.get(key),
    deployment: (key) => deployments.get(key),
  });
}

function fleetOf(source: FleetSource): MachineFleet {
  const ofSet = ({ metadata }: MachineSet) => source.machinesOfSet(metadata.uid);
  return {
    resolve({ kind, namespace, name }) {
      const key = `${namespace}/${name}`;
      if (kind === 'MachineSet') {
        const set = source.set(key);
        return set && { sets: [set], machines: ofSet(set), replicas: set.spec.replicas ?? 0 };
      }
      const deployment = source.deployment(key);
      if (!deployment) return undefined;
      const own = source.setsOfDeployment(deployment.metadata.uid);
      return { deployment, sets: own, machines: own.flatMap(ofSet), replicas: deployment.spec.replicas ?? 0 };
    },
    machinesOf: source.machinesOfNode,
    poolsOf(machine, pools) {
      const owner = controllerOf(machine);
      const namespace = machine.metadata.namespace ?? '';
      const set = owner?.kind === 'MachineSet' ? source.set(`${namespace}/${owner.name}`) : undefined;
      if (!owner || set?.metadata.uid !== owner.uid) return [];
      const above = controllerOf(set);
      return pools.filter((pool) =>
        referencesOf(pool).some(
          (ref) =>
            ref.namespace === namespace &&
            (ref.kind === 'MachineSet' ? ref.name === owner.name : ref.kind === above?.kind && ref.name === above.name),
        ),
      );
    },
  };
}

/** Returns the pools that refer to the machine of a node, or an empty list if the node selectors of pools apply. */
export type ClaimsOf = (node: Node) => readonly MachineConfigPool[];

/** Returns the {@link ClaimsOf} function of a fleet. */
export const claimsOf =
  (fleet: MachineFleet, pools: readonly MachineConfigPool[]): ClaimsOf =>
  ({ metadata }) => [...new Set(fleet.machinesOf(metadata.name).flatMap((machine) => fleet.poolsOf(machine, pools)))];
