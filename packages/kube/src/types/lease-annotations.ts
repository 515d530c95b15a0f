/** The annotations of Leases: the Leases of leader election, and the peer Leases of a fleet. */
export const LeaseAnnotations = {
  /** On a Lease, the value is the version and identity of its holder at the time of the write. */
  HolderVersion: 'holder-version',
  /**
   * On a Lease, the value is the identity of the holder and its changed flags. On a peer Lease, the value contains the
   * weight, the unreachable clusters, and the flag that selects clusters.
   */
  HolderSettings: 'holder-settings',
  /**
   * On a Lease, the value lists the periods in which no process held the Lease. Each period is `from/to`, with times in
   * RFC 3339, and commas separate the periods.
   */
  Vacancies: 'vacancies',
  /** On the Lease of a cluster in a fleet, the value is the UID of the namespace kube-system of the target cluster. */
  TargetClusterUid: 'target-cluster-uid',
  /** On a peer Lease of a fleet, an operator writes `true`, so that the replica serves no cluster. */
  FleetDrain: 'fleet-drain',
  /** On a peer Lease of a fleet, an operator lists the clusters that the replica must serve, separated by commas. */
  FleetClusters: 'fleet-clusters',
  /** On a peer Lease of a fleet, an operator sets the weight of the replica, an integer from 0 to 1000. */
  FleetWeight: 'fleet-weight',
  /**
   * On the Lease of a cluster in a fleet, the value is the `leaseTransitions` of the Lease when a replica released the
   * Lease for hibernation.
   */
  FleetHibernated: 'fleet-hibernated',
  /**
   * On the ConfigMap of a rollout budget, the value is JSON with the clusters that roll out, and the last rollouts of
   * the canary clusters.
   */
  FleetRollouts: 'fleet-rollouts',
} as const;
