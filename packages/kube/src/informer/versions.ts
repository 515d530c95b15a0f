/**
 * Converts a resourceVersion to a number, to compare versions of one kind from one server. Kubernetes guarantees
 * increasing integers (KEP-5504). Any other text becomes NaN, so every comparison is false. The informer lists again if
 * the versions of a server cannot be compared.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
