/** API group of all kinds of this project. */
export const GROUP = 'machine.sapcloud.io';

/** The only version of the API group. */
export const VERSION = 'v1alpha1';

/** The `apiVersion` of every object of the API group. */
export const API_VERSION = 'machine.sapcloud.io/v1alpha1';
