/**
 * Tag (label, where a cloud calls it so) of a VM that names the control cluster that made it: the UID of the namespace
 * of its Machines. Two control clusters of one cloud account and one cluster tag list each other's VMs; by it neither
 * takes them for its own orphans.
 */
export const OWNER_TAG = 'mcm-control-cluster';

/** The tags that a driver adds to those of a new VM. */
export const ownerTags = ({ owner }: { readonly owner?: string | undefined }): Readonly<Record<string, string>> =>
  owner === undefined ? {} : { [OWNER_TAG]: owner };

/** What a driver tells of a listed VM's tags, as the cloud answered them. */
export function ownerOf(tags: unknown): { readonly owner?: string } {
  const owner = typeof tags === 'object' && tags !== null && OWNER_TAG in tags ? tags[OWNER_TAG] : undefined;
  return typeof owner === 'string' && owner !== '' ? { owner } : {};
}
