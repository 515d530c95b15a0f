/** The annotations of Leases: the Leases of leader election, and the peer Leases of a fleet. */
export const LeaseAnnotations = {
  /**
   * On a Lease: version and identity of its holder at the time of the write. Other candidates do not remove the
   * annotation.
   */
  HolderVersion: 'holder-version',
  /**
   * On a Lease: identity of the holder at the time of the write, and its changed flags. The annotation of a peer Lease
   * contains the weight, the unreachable clusters and the flag that finds clusters.
   */
  HolderSettings: 'holder-settings',
  /**
   * On a Lease: the periods in which no process held the Lease. The periods are
   * separated by commas. Each period is `from/to`, with times in RFC 3339.
   */
  Vacancies: 'vacancies',
  /** On the Lease of a cluster in a fleet: UID of the namespace kube-system of the target cluster. */
  TargetClusterUid: 'target-cluster-uid',
  /** On a peer Lease of a fleet, by an operator: with the value `true`, the replica serves no cluster. */
  FleetDrain: 'fleet-drain',
  /**
   * On a peer Lease of a fleet: clusters that the replica must serve, separated by commas. An operator writes the
   * annotation.
   */
  FleetClusters: 'fleet-clusters',
  /**
   * On a peer Lease of a fleet, by an operator: the weight of the replica, an integer from 0 to 1000. The annotation
   * takes precedence over the flag `--fleet-weight`.
   */
  FleetWeight: 'fleet-weight',
  /**
   * On the Lease of a cluster in a fleet: a replica released the Lease because the cluster has no machines. The value is
   * the number of transitions of the Lease.
   */
  FleetHibernated: 'fleet-hibernated',
  /** On the ConfigMap of a rollout budget: the clusters that roll out, and the last rollouts of the canary clusters, as JSON. */
  FleetRollouts: 'fleet-rollouts',
} as const;
