/** The rates at which pods are evicted from lost nodes, as the flags of kube-controller-manager define them. */
export interface EvictionRules {
  /** Nodes per second that are tainted in a zone (`--node-eviction-rate`). */
  readonly nodeEvictionRate: number;
  /**
   * The rate in a large zone if many of its nodes are lost (`--secondary-node-eviction-rate`). In a smaller zone, the rate
   * is then zero.
   */
  readonly secondaryNodeEvictionRate: number;
  /** Zones with more nodes than this are large (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /** If this share of a zone's nodes is lost, its rate changes (`--unhealthy-zone-threshold`). */
  readonly unhealthyZoneThreshold: number;
}
