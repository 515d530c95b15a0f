/** The rates at which pods are evicted from unreachable nodes, as the flags of kube-controller-manager define them. */
export interface EvictionRules {
  /** The number of nodes per second that may be tainted in a zone (`--node-eviction-rate`). */
  readonly nodeEvictionRate: number;
  /**
   * The rate in a large zone if many of its nodes are unreachable (`--secondary-node-eviction-rate`). In a smaller
   * zone, the rate becomes zero.
   */
  readonly secondaryNodeEvictionRate: number;
  /** Maximum number of nodes of a small zone (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /** Share of unreachable nodes from which the rate of the zone changes (`--unhealthy-zone-threshold`). */
  readonly unhealthyZoneThreshold: number;
}
