/**
 * Converts a resourceVersion to a number, to compare two versions of one kind from one server. Kubernetes guarantees
 * increasing integers (KEP-5504). A text that is no number becomes NaN, so comparisons are false and the informer lists
 * the objects again.
 */
export const versionNumber = (resourceVersion: string): number =>
  resourceVersion === '' ? Number.NaN : Number(resourceVersion);
