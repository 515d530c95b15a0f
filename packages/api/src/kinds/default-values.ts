/** A rolling update adds a machine before it deletes one, so that the fleet never has fewer machines than desired. */
export const DEFAULT_ROLLING_UPDATE = { maxSurge: 1, maxUnavailable: 0 } as const;

/** An in-place update keeps its machines: one at a time is out of service. */
export const DEFAULT_IN_PLACE_UPDATE = { maxSurge: 0, maxUnavailable: 1 } as const;

/** How machines are updated if nothing is said. */
export const DEFAULT_STRATEGY = { type: 'RollingUpdate', rollingUpdate: DEFAULT_ROLLING_UPDATE } as const;

/** Absent replicas mean 0, because the original omits the field when it scales to zero. */
export const DEFAULT_REPLICAS = 0;
