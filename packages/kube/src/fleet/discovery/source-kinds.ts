import type { KubeObject, ResourceDefinition } from '../../contract/objects.ts';
import { FleetSourceAnnotations } from '../../types/fleet-source-keys.ts';

/** A kind of another project, without its version, because API servers serve different versions. */
export type SourceKind = Pick<ResourceDefinition<KubeObject>, 'group' | 'plural' | 'kind'>;

/** The kind `Cluster` of Cluster API. */
export const CLUSTER_API_CLUSTERS = { group: 'cluster.x-k8s.io', plural: 'clusters', kind: 'Cluster' } as const;

/** The kind `ClusterProfile` of a cluster inventory. */
export const CLUSTER_PROFILES = {
  group: 'multicluster.x-k8s.io',
  plural: 'clusterprofiles',
  kind: 'ClusterProfile',
} as const;

/** The fields of a Cluster of Cluster API that mcm reads. */
export interface ClusterApiCluster extends KubeObject {
  readonly spec?: { readonly paused?: boolean };
}

/** As in Cluster API, the field `paused`, or the annotation with any value, pauses a Cluster. */
export const isPausedCluster = ({ metadata, spec }: ClusterApiCluster): boolean =>
  spec?.paused === true || metadata.annotations?.[FleetSourceAnnotations.Paused] !== undefined;

/** Returns the name of the Secret with the kubeconfig of a Cluster. */
export const clusterApiSecretOf = ({ metadata }: KubeObject): string => `${metadata.name}-kubeconfig`;

/** The key of the kubeconfig in the Secrets of Cluster API. */
export const CLUSTER_API_KEY = 'value';

/** The key of the kubeconfig in the Secret of a ClusterProfile. */
export const CLUSTER_PROFILE_KEY = 'Config';
