/**
 * A resourceVersion as a number, to compare versions of one kind from one server. Kubernetes guarantees integers that increase (KEP-5504).
 * NaN for any other text, so every comparison is false, and the objects of such a server are listed again instead.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
