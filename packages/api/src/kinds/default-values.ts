/**
 * The default limits of a rolling update. A rolling update with the default limits creates a machine before it deletes
 * one.
 */
export const DEFAULT_ROLLING_UPDATE = { maxSurge: 1, maxUnavailable: 0 } as const;

/**
 * The default limits of an in-place update. An in-place update needs no additional machine, because the update keeps
 * its machines.
 */
export const DEFAULT_IN_PLACE_UPDATE = { maxSurge: 0, maxUnavailable: 1 } as const;

/** The default update strategy of a deployment. */
export const DEFAULT_STRATEGY = { type: 'RollingUpdate', rollingUpdate: DEFAULT_ROLLING_UPDATE } as const;

/** The original omits `spec.replicas` if the number of replicas is 0, so the default is 0. */
export const DEFAULT_REPLICAS = 0;
