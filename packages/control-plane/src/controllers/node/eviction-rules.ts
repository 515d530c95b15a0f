/** The rates at which the controller evicts pods from unreachable nodes. */
export interface EvictionRules {
  readonly nodeEvictionRate: number;
  /** The eviction rate of a zone with many unreachable nodes. For a small zone, the rate is zero. */
  readonly secondaryNodeEvictionRate: number;
  /** The maximum number of nodes in a small zone (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /**
   * If this share of the nodes in a zone is unreachable, the controller reduces the eviction rate
   * (`--unhealthy-zone-threshold`).
   */
  readonly unhealthyZoneThreshold: number;
}
