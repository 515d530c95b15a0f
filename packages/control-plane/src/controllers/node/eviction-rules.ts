/** The rates at which the controller evicts pods from unreachable nodes. */
export interface EvictionRules {
  readonly nodeEvictionRate: number;
  /** The eviction rate of a zone with many unreachable nodes. For a small zone, the rate is zero. */
  readonly secondaryNodeEvictionRate: number;
  /** The maximum number of nodes in a small zone (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /**
   * The share of unreachable nodes from which on the controller reduces the eviction rate of a zone
   * (`--unhealthy-zone-threshold`).
   */
  readonly unhealthyZoneThreshold: number;
}
