/** The annotations of a namespace in a seed. Each such namespace is one cluster of a fleet. */
export const FleetAnnotations = {
  /**
   * No replica of a fleet serves the cluster, because the cluster has its own process. The value is the reason. mcm or
   * an operator writes the annotation.
   */
  HandedOver: 'mcm-fleet-handed-over',
  /**
   * The share of the cluster in the requests of its replica, an integer from 1 to 100 (default: 1). An operator writes
   * the annotation.
   */
  Share: 'mcm-fleet-share',
} as const;
