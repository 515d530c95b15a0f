import { isForbidden, type KubeError, permissionText, refusedPermission } from '@mcm/kube';

/**
 * Waits for writes that RBAC may forbid. Each retry returns an equal text, because the text names no object.
 * @returns the missing permission, or undefined after success
 * @throws every other error of the writes
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

/** Returns the verb, the resource and the hint of a missing permission. */
export function refusalText({ message }: Pick<KubeError, 'message'>): string {
  const permission = refusedPermission(message);
  // Admission plugins also respond with 403, and their message contains the reason.
  if (permission === undefined) return message;
  return (
    `the machine-config-controller has no permission to ${permissionText(permission)}: ` +
    'apply the ClusterRoles of this mcm version (docs/permissions.md)'
  );
}
