/** The annotations of a namespace in a seed, which contains one cluster of a fleet. */
export const FleetAnnotations = {
  /**
   * mcm or an operator writes the reason why the cluster has its own process. No replica of a fleet serves a cluster
   * with the annotation.
   */
  HandedOver: 'mcm-fleet-handed-over',
  /** The value is the share of the cluster in the requests of its replica, an integer from 1 to 100 (default: 1). */
  Share: 'mcm-fleet-share',
} as const;
