/** The update creates a machine before it deletes one, so the number of machines is never below the replicas. */
export const DEFAULT_ROLLING_UPDATE = { maxSurge: 1, maxUnavailable: 0 } as const;

/** One machine at a time may be unavailable, because an in-place update keeps its machines. */
export const DEFAULT_IN_PLACE_UPDATE = { maxSurge: 0, maxUnavailable: 1 } as const;

/** The default update strategy of a deployment. */
export const DEFAULT_STRATEGY = { type: 'RollingUpdate', rollingUpdate: DEFAULT_ROLLING_UPDATE } as const;

/** The default of `spec.replicas` is 0, because the original omits the field of an object without replicas. */
export const DEFAULT_REPLICAS = 0;
