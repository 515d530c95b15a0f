import {
  CLUSTER_API_CLUSTERS,
  CLUSTER_PROFILES,
  type ClusterApiCluster,
  errorText,
  findServedKind,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ResourceDefinition,
  withoutUndefined,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';

type Kind = typeof CLUSTER_API_CLUSTERS | typeof CLUSTER_PROFILES;

async function served<T extends KubeObject>(
  client: KubeClient,
  kind: Kind,
  signal?: AbortSignal,
): Promise<ResourceDefinition<T>> {
  try {
    return await findServedKind<T>(client, kind, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new UserError(
      `the cluster with the peer Leases has no CRD ${kind.plural}.${kind.group} (${errorText(error)})`,
    );
  }
}

/** Returns the Clusters of Cluster API that match a label selector. */
export async function clustersWith(
  client: KubeClient,
  labelSelector: string | undefined,
  signal?: AbortSignal,
): Promise<readonly ClusterApiCluster[]> {
  const definition = await served<ClusterApiCluster>(client, CLUSTER_API_CLUSTERS, signal);
  const { items } = await client.resource(definition).list(withoutUndefined({ labelSelector, signal }));
  return items;
}

/** Returns the ClusterProfiles of a namespace that match a label selector. */
export async function profilesWith(
  client: KubeClient,
  namespace: string,
  labelSelector: string,
  signal?: AbortSignal,
): Promise<readonly KubeObject[]> {
  const definition = await served<KubeObject>(client, CLUSTER_PROFILES, signal);
  const { items } = await client.resource(definition, namespace).list(withoutUndefined({ labelSelector, signal }));
  return items;
}

/**
 * Finds the Cluster whose name or whose namespace equals the given name. In a fleet, the name of a cluster is
 * its namespace.
 * @throws UserError if several Clusters match
 */
export function clusterNamed(all: readonly ClusterApiCluster[], name: string): ClusterApiCluster | undefined {
  const within = all.filter(({ metadata }) => metadata.namespace === name);
  const found = within.length > 0 ? within : all.filter(({ metadata }) => metadata.name === name);
  if (found.length <= 1) return found[0];
  const names = found.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
  throw new UserError(
    within.length > 0
      ? `namespace ${name} contains the Clusters ${names.join(', ')}; select only one Cluster in each namespace`
      : `the Clusters ${names.join(', ')} have the name ${name}; write the namespace of the Cluster`,
  );
}
