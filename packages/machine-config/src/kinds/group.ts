/** The API group of the original. mcm uses the group of the original, so that it can read existing objects. */
export const GROUP = 'machineconfiguration.openshift.io';

/** The only version of the API group. The version is served and stored. */
export const VERSION = 'v1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = `${GROUP}/${VERSION}` as const;

/** Prefix of every annotation and label of the group. */
export const PREFIX = `${GROUP}/` as const;
