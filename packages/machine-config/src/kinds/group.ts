/** The API group of the original, because mcm reads objects of the original unchanged. */
export const GROUP = 'machineconfiguration.openshift.io';

/** The only served and stored version. */
export const VERSION = 'v1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = `${GROUP}/${VERSION}` as const;

/** Prefix of every annotation and label of the group. */
export const PREFIX = `${GROUP}/` as const;
