/** API group of the kinds of this package: the original's, so that its objects are read as they stand. */
export const GROUP = 'machineconfiguration.openshift.io';

/** The one served and stored version. */
export const VERSION = 'v1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = `${GROUP}/${VERSION}` as const;

/** Prefix of every annotation and label of the group. */
export const PREFIX = `${GROUP}/` as const;
