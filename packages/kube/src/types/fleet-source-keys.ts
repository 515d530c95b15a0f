/** The labels of other projects with which a fleet finds its clusters. */
export const FleetSourceLabels = {
  /** On a Secret with a kubeconfig, the value is the name of its ClusterProfile. */
  Profile: 'x-k8s.io/cluster-profile',
} as const;

/** The annotations of other projects with which a fleet finds its clusters. */
export const FleetSourceAnnotations = {
  /** On a Cluster of Cluster API, any value means that the fleet does not serve the cluster. */
  Paused: 'cluster.x-k8s.io/paused',
} as const;
