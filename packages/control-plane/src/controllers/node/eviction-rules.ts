/** The rates at which pods are evicted from unreachable nodes. */
export interface EvictionRules {
  /** The maximum number of tainted nodes per second in a zone (`--node-eviction-rate`). */
  readonly nodeEvictionRate: number;
  /**
   * The rate in a large zone with many unreachable nodes (`--secondary-node-eviction-rate`). The rate of a small zone
   * becomes zero.
   */
  readonly secondaryNodeEvictionRate: number;
  /** The maximum number of nodes of a small zone (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /** The minimum share of unreachable nodes that changes the rate of a zone (`--unhealthy-zone-threshold`). */
  readonly unhealthyZoneThreshold: number;
}
