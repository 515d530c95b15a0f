/** How lost nodes are expelled, as kube-controller-manager's flags have it. */
export interface EvictionRules {
  /** Nodes a second that are tainted in a zone (`--node-eviction-rate`). */
  readonly nodeEvictionRate: number;
  /** The same for a large zone of which much is lost (`--secondary-node-eviction-rate`); in a smaller one none are. */
  readonly secondaryNodeEvictionRate: number;
  /** Zones with more nodes are large (`--large-cluster-size-threshold`). */
  readonly largeClusterSizeThreshold: number;
  /** The share of a zone's nodes from which much of it is lost (`--unhealthy-zone-threshold`). */
  readonly unhealthyZoneThreshold: number;
}
