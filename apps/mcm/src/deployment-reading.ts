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
import type { KubeClient } from '@mcm/kube';
import { getNamed } from './missing.ts';

/** A deployment with all that it owns, read at one moment. */
export interface DeploymentReading {
  readonly deployment: MachineDeployment;
  /** The sets that it controls. */
  readonly sets: readonly MachineSet[];
  /** Machines by the uid of the set that controls them. */
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  /** All machines of the namespace. */
  readonly fleet: readonly Machine[];
}

/** A deployment with what around it decides over its machines. */
export interface FullReading extends DeploymentReading {
  readonly classes: readonly MachineClass[];
  /** The other deployments of the namespace. */
  readonly others: readonly MachineDeployment[];
}

const ownerOf = ({ metadata }: MachineSet | Machine): string | undefined =>
  metadata.ownerReferences?.find((owner) => owner.controller)?.uid;

/** Throws `UserError` when there is no such deployment. */
export async function readDeployment(client: KubeClient, namespace: string, name: string): Promise<DeploymentReading> {
  const deployment = await getDeployment(client, namespace, name);
  const [sets, all] = await Promise.all([
    client.resource<MachineSet>(machineSets, namespace).list(),
    client.resource<Machine>(machines, namespace).list(),
  ]);
  const owned = sets.items.filter((set) => ownerOf(set) === deployment.metadata.uid);
  const ofSet = (uid: string): Machine[] => all.items.filter((machine) => ownerOf(machine) === uid);
  return {
    deployment,
    sets: owned,
    machines: new Map(owned.map(({ metadata }) => [metadata.uid, ofSet(metadata.uid)])),
    fleet: all.items,
  };
}

/** Throws `UserError` when there is no such deployment. */
export async function readFully(client: KubeClient, namespace: string, name: string): Promise<FullReading> {
  const [reading, classes, deployments] = await Promise.all([
    readDeployment(client, namespace, name),
    client.resource<MachineClass>(machineClasses, namespace).list(),
    client.resource<MachineDeployment>(machineDeployments, namespace).list(),
  ]);
  const others = deployments.items.filter(({ metadata }) => metadata.uid !== reading.deployment.metadata.uid);
  return { ...reading, classes: classes.items, others };
}

/** Throws `UserError` when there is no such deployment. */
export const getDeployment = (client: KubeClient, namespace: string, name: string): Promise<MachineDeployment> =>
  getNamed<MachineDeployment>(client, machineDeployments, namespace, name);
