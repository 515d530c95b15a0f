import {
  errorText,
  isForbidden,
  type KubeClient,
  type KubeError,
  type Node,
  nodes,
  type Permission,
  permissionText,
  refusedPermission,
} from '@mcm/kube';

/**
 * Returns the objects of a read request. If the user has no permission for a read request, the result is null, and
 * `unread` contains the error of the server.
 */
export async function ifAllowed<T>(reading: Promise<T>, unread?: Set<string>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    unread?.add(errorText(error));
    return null;
  }
}

export async function readNodes(client: KubeClient, unread?: Set<string>): Promise<readonly Node[] | undefined> {
  return (await ifAllowed(client.resource<Node>(nodes).list(), unread))?.items;
}

const ROLE = 'docs/permissions.md, "The mcm command"';

/** Returns the permission that an administrator must grant. */
export function lackText(error: KubeError): string | undefined {
  const permission = isForbidden(error) ? refusedPermission(error.message) : undefined;
  if (permission === undefined) return undefined;
  return `the credentials need the permission ${permissionText(permission)}${namespaceOf(error)} (${ROLE})`;
}

/** Returns the reason why a watch failed: the missing permissions, or the message of the server. */
export function needsText(error: KubeError): string {
  const permission = refusedPermission(error.message);
  if (permission === undefined) return `permission for the refused request (${error.message})`;
  return `get, list and watch of ${kindText(permission)}${namespaceOf(error)} (${ROLE})`;
}

const kindText = ({ resource, group }: Permission): string => (group === '' ? resource : `${resource}.${group}`);

const namespaceOf = ({ message }: KubeError): string => {
  const [, namespace] = /in the namespace "([^"]+)"/.exec(message) ?? [];
  return namespace === undefined ? '' : ` in namespace ${namespace}`;
};

export const unreadLines = (unread: readonly string[]): string[] =>
  unread.length === 0
    ? []
    : [
        '',
        'No permission to read:',
        ...unread.map((words) => `  - ${words}`),
        `  (grant the roles mcm-read, see ${ROLE})`,
      ];
