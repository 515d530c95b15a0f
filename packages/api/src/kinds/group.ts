/** API group of all kinds of this project. */
export const GROUP = 'machine.sapcloud.io';

/** The only version that is served and stored. */
export const VERSION = 'v1alpha1';

/** `apiVersion` of every object of the group. */
export const API_VERSION = 'machine.sapcloud.io/v1alpha1';
