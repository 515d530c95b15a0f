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
import { defined } from '@mcm/kube';
import { ifAllowed } from './allowed.ts';
import { getNamed } from './missing.ts';

/** A MachineDeployment with its sets and machines. */
export interface DeploymentReading {
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  readonly fleet: readonly Machine[];
}

export type ReadableEnvironment = Pick<DeploymentReading, 'deployment'> &
  Partial<NamespaceReading> &
  Partial<Pick<FullReading, 'others'>>;

export interface FullReading extends DeploymentReading {
  readonly classes: readonly MachineClass[];
  readonly others: readonly MachineDeployment[];
}

const ownerOf = ({ metadata }: MachineSet | Machine): string | undefined =>
  metadata.ownerReferences?.find((owner) => owner.controller)?.uid;

export interface NamespaceReading {
  readonly deployments: readonly MachineDeployment[];
  readonly sets: readonly MachineSet[];
  readonly fleet: readonly Machine[];
  readonly classes: readonly MachineClass[];
}

const listOf = async <T extends KubeObject>(
  client: KubeClient,
  kind: ResourceDefinition<T>,
  namespace: string | undefined,
  options: RequestOptions = {},
): Promise<readonly T[]> => (await client.resource<T>(kind, namespace).list(options)).items;

/** Reads all objects of a namespace that mcm uses. */
export async function readNamespace(client: KubeClient, namespace: string | undefined): Promise<NamespaceReading> {
  const [deployments, sets, fleet, classes] = await Promise.all([
    listOf<MachineDeployment>(client, machineDeployments, namespace),
    listOf<MachineSet>(client, machineSets, namespace),
    listOf<Machine>(client, machines, namespace),
    listOf<MachineClass>(client, machineClasses, namespace),
  ]);
  return { deployments, sets, fleet, classes };
}

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

/** @throws UserError if the deployment does not exist */
export async function readDeployment(client: KubeClient, namespace: string, name: string): Promise<DeploymentReading> {
  return readOwned(client, namespace, await getDeployment(client, namespace, name));
}

/** Reads the sets and the machines of a deployment. */
export async function readOwned(
  client: KubeClient,
  namespace: string,
  deployment: MachineDeployment,
  options?: RequestOptions,
): Promise<DeploymentReading> {
  const [sets, fleet] = await Promise.all([
    listOf<MachineSet>(client, machineSets, namespace, options),
    listOf<Machine>(client, machines, namespace, options),
  ]);
  return ownedBy(deployment, { sets, fleet });
}

/**
 * Reads a deployment, and the related objects that the user may read. If a read is refused, its error is added to
 * `unread`.
 * @throws UserError if the deployment does not exist
 */
export async function readWithEnvironment(
  client: KubeClient,
  namespace: string,
  name: string,
  unread: Set<string>,
): Promise<ReadableEnvironment> {
  const [deployment, sets, fleet, classes, deployments] = await Promise.all([
    getDeployment(client, namespace, name),
    ifAllowed(listOf<MachineSet>(client, machineSets, namespace), unread),
    ifAllowed(listOf<Machine>(client, machines, namespace), unread),
    ifAllowed(listOf<MachineClass>(client, machineClasses, namespace), unread),
    ifAllowed(listOf<MachineDeployment>(client, machineDeployments, namespace), unread),
  ]);
  const others = deployments?.filter(({ metadata }) => metadata.uid !== deployment.metadata.uid);
  return defined({
    deployment,
    sets: sets ?? undefined,
    fleet: fleet ?? undefined,
    classes: classes ?? undefined,
    others,
  });
}

/** @throws UserError if the deployment does not exist */
export const getDeployment = (
  client: KubeClient,
  namespace: string,
  name: string,
  options?: RequestOptions,
): Promise<MachineDeployment> => getNamed<MachineDeployment>(client, machineDeployments, namespace, name, options);
