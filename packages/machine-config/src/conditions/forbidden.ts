import { isForbidden, type KubeError, permissionText, refusedPermission } from '@mcm/kube';

/**
 * Waits for a write, and returns a text if RBAC forbids the write. The text names the missing permission and no object,
 * so that each retry returns the same text.
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

export function refusalText({ message }: Pick<KubeError, 'message'>): string {
  const permission = refusedPermission(message);
  // Admission plugins also respond with 403, with the reason of the refusal.
  if (permission === undefined) return message;
  return (
    `the machine-config-controller has no permission to ${permissionText(permission)}: ` +
    'apply the ClusterRoles of this mcm version (docs/permissions.md)'
  );
}
