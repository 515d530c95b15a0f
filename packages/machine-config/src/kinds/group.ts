/** mcm uses the API group of the original, so that it can read existing objects. */
export const GROUP = 'machineconfiguration.openshift.io';

/** The only version of the API group. */
export const VERSION = 'v1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = `${GROUP}/${VERSION}` as const;

export const PREFIX = `${GROUP}/` as const;
