import {
  CLUSTER_API_CLUSTERS,
  CLUSTER_API_KEY,
  CLUSTER_PROFILE_KEY,
  type ClusterApiCluster,
  type ClusterConfig,
  clusterApiSecretOf,
  errorText,
  FLEET_SECRET,
  FleetSourceLabels,
  findServedKind,
  isForbidden,
  isNotFound,
  type KubeClient,
  kubeconfigOfText,
  realClock,
  type Secret,
  secrets,
} from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { reportedSource } from './source.ts';
import { clusterNamed, clustersWith } from './source-objects.ts';

/** One cluster of a fleet. */
export interface MemberConfig {
  readonly config: ClusterConfig;
  /** The namespace of the machine objects. */
  readonly namespace: string;
  /** Whether the machine objects are in the seed. Without a seed, the objects are in the cluster of `config`. */
  readonly inSeed: boolean;
}

const HINT = 'to use another kubeconfig for the nodes, set --target-kubeconfig';

function configOf(secret: Secret, keys: readonly string[], hint: string): Promise<ClusterConfig> {
  const source = `Secret ${secret.metadata.namespace}/${secret.metadata.name}`;
  const data = keys.map((key) => secret.data?.[key]).find((value) => value !== undefined);
  if (data === undefined) throw new UserError(`${source} has no key ${keys.join(' or ')}${hint}`);
  return kubeconfigOfText(Buffer.from(data, 'base64').toString('utf8'), { source, clock: realClock });
}

async function secretConfig(
  seed: KubeClient,
  namespace: string,
  name: string,
  keys: readonly string[],
): Promise<MemberConfig> {
  const secret = await seed
    .resource<Secret>(secrets, namespace)
    .get(name)
    .catch((error: unknown) => {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      throw new UserError(
        `cannot read Secret ${namespace}/${name} with the kubeconfig of the cluster (${errorText(error)}); ${HINT}`,
      );
    });
  return { config: await configOf(secret, keys, `; ${HINT}`), namespace, inSeed: true };
}

/**
 * Returns the kubeconfig of a ClusterProfile, from the only Secret with its label.
 * @throws UserError if no Secret or several Secrets have the label, or if the Secret has no kubeconfig
 */
export async function profileConfig(name: string, labelled: readonly Secret[]): Promise<MemberConfig> {
  const [secret, ...more] = labelled;
  const label = `${FleetSourceLabels.Profile}=${name}`;
  if (secret === undefined) throw new UserError(`no Secret has the label ${label}`);
  if (more.length > 0) {
    const names = labelled.map(({ metadata }) => metadata.name).sort();
    throw new UserError(`the Secrets ${names.join(', ')} have the label ${label}; keep only one of these Secrets`);
  }
  const config = await configOf(secret, [CLUSTER_PROFILE_KEY], '');
  return { config, namespace: config.namespace ?? 'default', inSeed: false };
}

/**
 * Returns the kubeconfig of a cluster in a fleet. The peer Leases in the namespace `home` tell where the kubeconfig is.
 * `cluster` is the namespace of the cluster in the seed, or the name of a Cluster or of a ClusterProfile.
 * @throws UserError if the kubeconfig cannot be read
 */
export async function memberConfig(seed: KubeClient, cluster: string, home: string): Promise<MemberConfig> {
  const source = await reportedSource(seed, home);
  if (source?.flag === 'fleet-cluster-profiles') {
    const { items } = await seed
      .resource<Secret>(secrets, home)
      .list({ labelSelector: `${FleetSourceLabels.Profile}=${cluster}` });
    return profileConfig(cluster, items);
  }
  if (source?.flag === 'fleet-clusters') {
    const found = clusterNamed(await clustersWith(seed, source.selector), cluster);
    if (found === undefined)
      throw new UserError(
        `no Cluster with the labels ${source.selector} has the name or the namespace ${cluster}; see: mcm fleet clusters -n ${home}`,
      );
    return secretConfig(seed, found.metadata.namespace ?? '', clusterApiSecretOf(found), [CLUSTER_API_KEY]);
  }
  try {
    return await secretConfig(seed, cluster, source?.secret ?? FLEET_SECRET, ['kubeconfig', 'value']);
  } catch (error) {
    const found = source === undefined && error instanceof UserError ? await clusterIn(seed, cluster) : undefined;
    if (found === undefined) throw error;
    return secretConfig(seed, cluster, clusterApiSecretOf(found), [CLUSTER_API_KEY]);
  }
}

/**
 * Returns the Cluster with the given name or namespace. If the seed has no CRD of Cluster API, or the user may not list
 * Clusters, the result is undefined.
 */
async function clusterIn(seed: KubeClient, namespace: string): Promise<ClusterApiCluster | undefined> {
  try {
    const definition = await findServedKind<ClusterApiCluster>(seed, CLUSTER_API_CLUSTERS);
    const { items } = await seed.resource(definition, namespace).list();
    return clusterNamed(items, namespace);
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
