/** The rates at which the controller evicts pods from unreachable nodes. */
export interface EvictionRules {
  readonly nodeEvictionRate: number;
  /** For a small zone with many unreachable nodes, the rate is zero. */
  readonly secondaryNodeEvictionRate: number;
  /** A zone with at most this number of nodes is small (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /**
   * From this share of unreachable nodes on, the controller reduces the eviction rate of a zone
   * (`--unhealthy-zone-threshold`).
   */
  readonly unhealthyZoneThreshold: number;
}
