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
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
  type Node,
} from '@mcm/kube';
import type { MachineConfigPool, MachineRef } from '../kinds/machine-config-pool.ts';
import { referencesOf } from '../server/machines.ts';

/** Live copies of machines and of what owns them, in the cluster of the MachineConfigs. */
export interface MachineCaches {
  readonly machines: Informer<Machine>;
  readonly sets: Informer<MachineSet>;
  readonly deployments: Informer<MachineDeployment>;
}

const OWNER = 'owner';
const NODE = 'node';
const ownerTerms = (object: KubeObject): readonly string[] => [controllerOf(object)?.uid ?? []].flat();

/** The caches that pools over machines are found with. */
export function createMachineCaches(client: KubeClient, runtime: InformerRuntime): MachineCaches {
  return {
    machines: createInformer(client, machines, {
      ...runtime,
      indexes: { [OWNER]: ownerTerms, [NODE]: ({ metadata }) => [metadata.labels?.[Labels.Node] ?? []].flat() },
    }),
    sets: createInformer(client, machineSets, { ...runtime, indexes: { [OWNER]: ownerTerms } }),
    deployments: createInformer(client, machineDeployments, runtime),
  };
}

/** Finds machines by what owns them, and back. Owner references decide, never names or labels of sets. */
export interface MachineFleet {
  /** Undefined: there is no such object. */
  resolve(ref: MachineRef): ResolvedRef | undefined;
  /** Machines that say that they are this node; several while one replaces another of its name. */
  machinesOf(nodeName: string): readonly Machine[];
  /** Pools that have the machine by reference. */
  poolsOf(machine: Machine, pools: readonly MachineConfigPool[]): readonly MachineConfigPool[];
}

/** What a reference leads to. */
export interface ResolvedRef {
  readonly deployment?: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: readonly Machine[];
  /** Machines that are asked for. */
  readonly replicas: number;
}

/** Name of the Node that a machine says it is; '' before it has one. */
export const nodeNameOf = ({ metadata }: Machine): string => metadata.labels?.[Labels.Node] ?? '';

/** Looks into the caches; no look grows with other pools' machines. */
export function machineFleet({ machines: all, sets, deployments }: MachineCaches): MachineFleet {
  const ofSet = ({ metadata }: MachineSet) => all.store.byIndex(OWNER, metadata.uid);
  return {
    resolve({ kind, namespace, name }) {
      const key = `${namespace}/${name}`;
      if (kind === 'MachineSet') {
        const set = sets.store.get(key);
        return set && { sets: [set], machines: ofSet(set), replicas: set.spec.replicas ?? 0 };
      }
      const deployment = deployments.store.get(key);
      if (!deployment) return undefined;
      const own = sets.store.byIndex(OWNER, deployment.metadata.uid);
      return { deployment, sets: own, machines: own.flatMap(ofSet), replicas: deployment.spec.replicas ?? 0 };
    },
    machinesOf: (nodeName) => all.store.byIndex(NODE, nodeName),
    poolsOf(machine, pools) {
      const owner = controllerOf(machine);
      const namespace = machine.metadata.namespace ?? '';
      const set = owner?.kind === 'MachineSet' ? sets.store.get(`${namespace}/${owner.name}`) : undefined;
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

/** Which pools have a node by reference to its machine; none: node selectors decide. */
export type ClaimsOf = (node: Node) => readonly MachineConfigPool[];

/** {@link ClaimsOf} of a fleet. */
export const claimsOf =
  (fleet: MachineFleet, pools: readonly MachineConfigPool[]): ClaimsOf =>
  ({ metadata }) => [...new Set(fleet.machinesOf(metadata.name).flatMap((machine) => fleet.poolsOf(machine, pools)))];
