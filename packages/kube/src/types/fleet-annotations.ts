/** The annotations of a namespace in a seed, which is one cluster of a fleet. */
export const FleetAnnotations = {
  /**
   * By mcm or an operator: no replica of a fleet serves the cluster, because the cluster has its own process. The value
   * is the reason.
   */
  HandedOver: 'mcm-fleet-handed-over',
  /**
   * By an operator: the share of the cluster in the requests of its replica, an integer from 1 to 100. The default is
   * 1.
   */
  Share: 'mcm-fleet-share',
} as const;
