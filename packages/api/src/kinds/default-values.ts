/** A rolling update creates a machine before it deletes one, so there are never fewer machines than desired. */
export const DEFAULT_ROLLING_UPDATE = { maxSurge: 1, maxUnavailable: 0 } as const;

/** Default limits of an in-place update, which keeps its machines. One machine at a time may be unavailable. */
export const DEFAULT_IN_PLACE_UPDATE = { maxSurge: 0, maxUnavailable: 1 } as const;

/** The update strategy of a deployment without one. */
export const DEFAULT_STRATEGY = { type: 'RollingUpdate', rollingUpdate: DEFAULT_ROLLING_UPDATE } as const;

/** Replicas if the field is absent. The original omits the field when it scales to zero. */
export const DEFAULT_REPLICAS = 0;
