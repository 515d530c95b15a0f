/** The rates at which pods are evicted from unreachable nodes. Each rate has a flag in kube-controller-manager. */
export interface EvictionRules {
  /** The maximum number of tainted nodes per second in a zone (`--node-eviction-rate`). */
  readonly nodeEvictionRate: number;
  /**
   * The rate in a large zone if many of its nodes are unreachable (`--secondary-node-eviction-rate`). In a smaller
   * zone, the rate becomes zero.
   */
  readonly secondaryNodeEvictionRate: number;
  /** Maximum number of nodes of a small zone (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /** The minimum share of unreachable nodes that changes the rate of a zone (`--unhealthy-zone-threshold`). */
  readonly unhealthyZoneThreshold: number;
}
