/**
 * A resourceVersion as a number, for "newer than" between versions of one kind from one server. Kubernetes promises
 * that they are integers that grow (KEP-5504); 2^53 is out of reach. NaN for anything else: every comparison with it is
 * false, so a server whose versions cannot be compared is listed again where others are asked for their version.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
