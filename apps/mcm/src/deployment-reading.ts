import {
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { isNotFound, type KubeClient } from '@mcm/kube';
import { UserError } from './errors.ts';

/** A deployment with all that it owns, read at one moment. */
export interface DeploymentReading {
  readonly deployment: MachineDeployment;
  /** The sets that it controls. */
  readonly sets: readonly MachineSet[];
  /** Machines by the uid of the set that controls them. */
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
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
  };
}

/** Throws `UserError` when there is no such deployment. */
export async function getDeployment(client: KubeClient, namespace: string, name: string): Promise<MachineDeployment> {
  try {
    return await client.resource<MachineDeployment>(machineDeployments, namespace).get(name);
  } catch (error) {
    if (isNotFound(error)) {
      throw new UserError(
        `there is no machinedeployment ${name} in namespace ${namespace}; see: kubectl get mcd -n ${namespace}`,
      );
    }
    throw error;
  }
}
