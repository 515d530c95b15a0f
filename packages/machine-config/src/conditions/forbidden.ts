import { isForbidden, type KubeError, permissionText, refusedPermission } from '@mcm/kube';

/**
 * Waits for writes that a role may forbid.
 * @returns what the role lacks, in words without the names of objects, which differ from one try to the next
 * @throws whatever else comes of it
 */
export async function unlessForbidden(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return refusalText(error);
  }
}

/** What a role lacks, in words: verb, resource and the cure. */
export function refusalText({ message }: Pick<KubeError, 'message'>): string {
  const permission = refusedPermission(message);
  // Admission refuses with the same code, and says why itself.
  if (permission === undefined) return message;
  return (
    `the role of the machine-config-controller does not allow it to ${permissionText(permission)}: ` +
    'apply the ClusterRoles of this version (docs/permissions.md)'
  );
}
