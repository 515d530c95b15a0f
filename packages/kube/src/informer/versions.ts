/**
 * Converts a resourceVersion to a number, to compare two versions of one kind from one server. Kubernetes guarantees
 * increasing integers (KEP-5504). Any other text becomes NaN, which makes each comparison false, so that the informer
 * lists again.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
