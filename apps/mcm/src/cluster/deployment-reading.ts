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
import type { KubeClient, KubeObject, RequestOptions, ResourceDefinition } from '@mcm/kube';
import { ifAllowed } from './allowed.ts';
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

/** A deployment, and what is around it as far as that may be read. */
export type ReadableSurroundings = Pick<DeploymentReading, 'deployment'> &
  Partial<NamespaceReading> &
  Partial<Pick<FullReading, 'others'>>;

/** A deployment with what around it decides over its machines. */
export interface FullReading extends DeploymentReading {
  readonly classes: readonly MachineClass[];
  /** The other deployments of the namespace. */
  readonly others: readonly MachineDeployment[];
}

const ownerOf = ({ metadata }: MachineSet | Machine): string | undefined =>
  metadata.ownerReferences?.find((owner) => owner.controller)?.uid;

/** Everything of a namespace, read at one moment. */
export interface NamespaceReading {
  readonly deployments: readonly MachineDeployment[];
  readonly sets: readonly MachineSet[];
  readonly fleet: readonly Machine[];
  readonly classes: readonly MachineClass[];
}

const listOf = async <T extends KubeObject>(
  client: KubeClient,
  kind: ResourceDefinition<T>,
  namespace: string,
): Promise<readonly T[]> => (await client.resource<T>(kind, namespace).list()).items;

/** Each kind once, however many deployments there are. */
export async function readNamespace(client: KubeClient, namespace: string): Promise<NamespaceReading> {
  const [deployments, sets, fleet, classes] = await Promise.all([
    listOf<MachineDeployment>(client, machineDeployments, namespace),
    listOf<MachineSet>(client, machineSets, namespace),
    listOf<Machine>(client, machines, namespace),
    listOf<MachineClass>(client, machineClasses, namespace),
  ]);
  return { deployments, sets, fleet, classes };
}

/** What a deployment owns of a namespace. */
export function ownedBy(
  deployment: MachineDeployment,
  { sets, fleet }: Pick<NamespaceReading, 'sets' | 'fleet'>,
): DeploymentReading {
  const owned = sets.filter((set) => ownerOf(set) === deployment.metadata.uid);
  const bySet = Map.groupBy(fleet, ownerOf);
  return {
    deployment,
    sets: owned,
    machines: new Map(owned.map(({ metadata: { uid } }) => [uid, bySet.get(uid) ?? []])),
    fleet,
  };
}

/** Throws `UserError` when there is no such deployment. */
export async function readDeployment(client: KubeClient, namespace: string, name: string): Promise<DeploymentReading> {
  const deployment = await getDeployment(client, namespace, name);
  const [sets, fleet] = await Promise.all([
    listOf<MachineSet>(client, machineSets, namespace),
    listOf<Machine>(client, machines, namespace),
  ]);
  return ownedBy(deployment, { sets, fleet });
}

/**
 * A deployment, with as much of what is around it as may be read; `unread` gets the rest.
 * @throws UserError when there is no such deployment
 */
export async function readWithSurroundings(
  client: KubeClient,
  namespace: string,
  name: string,
  unread: Set<string>,
): Promise<ReadableSurroundings> {
  const [deployment, sets, fleet, classes, deployments] = await Promise.all([
    getDeployment(client, namespace, name),
    ifAllowed(listOf<MachineSet>(client, machineSets, namespace), unread),
    ifAllowed(listOf<Machine>(client, machines, namespace), unread),
    ifAllowed(listOf<MachineClass>(client, machineClasses, namespace), unread),
    ifAllowed(listOf<MachineDeployment>(client, machineDeployments, namespace), unread),
  ]);
  const others = deployments?.filter(({ metadata }) => metadata.uid !== deployment.metadata.uid);
  return {
    deployment,
    ...(sets && { sets }),
    ...(fleet && { fleet }),
    ...(classes && { classes }),
    ...(others && { others }),
  };
}

/** Throws `UserError` when there is no such deployment. */
export const getDeployment = (
  client: KubeClient,
  namespace: string,
  name: string,
  options?: RequestOptions,
): Promise<MachineDeployment> => getNamed<MachineDeployment>(client, machineDeployments, namespace, name, options);
