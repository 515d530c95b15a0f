/** API group of all kinds of this project. */
export const GROUP = 'machine.sapcloud.io';

/** The one served and stored version. */
export const VERSION = 'v1alpha1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = 'machine.sapcloud.io/v1alpha1';
