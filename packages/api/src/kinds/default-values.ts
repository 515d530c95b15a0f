/**
 * The default limits of a rolling update. The update creates a machine before it deletes one, so the number of machines
 * is never below the replicas.
 */
export const DEFAULT_ROLLING_UPDATE = { maxSurge: 1, maxUnavailable: 0 } as const;

/**
 * The default limits of an in-place update. One machine at a time may be unavailable. No additional machine is
 * necessary, because an in-place update keeps its machines.
 */
export const DEFAULT_IN_PLACE_UPDATE = { maxSurge: 0, maxUnavailable: 1 } as const;

/** The default update strategy of a deployment. */
export const DEFAULT_STRATEGY = { type: 'RollingUpdate', rollingUpdate: DEFAULT_ROLLING_UPDATE } as const;

/** The default of `spec.replicas`. The original omits the field for an object without replicas, so the default is 0. */
export const DEFAULT_REPLICAS = 0;
