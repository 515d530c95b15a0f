/**
 * A resourceVersion as a number, for "newer than" between versions of one kind from one server. Kubernetes promises
 * that they are integers that grow (KEP-5504); 2^53 is out of reach. NaN for anything else.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
