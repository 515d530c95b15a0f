import type { KubeError } from '../contract/errors.ts';
import { permissionText, refusedPermission } from './permission.ts';

/**
 * Returns a clause such as `this process does not have the permission to list nodes`, or undefined if nothing was
 * refused.
 */
export function refusalOf({
  refused,
  resource,
}: {
  readonly refused?: Pick<KubeError, 'code' | 'message'> | undefined;
  readonly resource?: string;
}): string | undefined {
  if (refused === undefined) return undefined;
  const permission = refusedPermission(refused.message);
  if (permission !== undefined) return `this process does not have the permission to ${permissionText(permission)}`;
  return refused.code === 404 ? `the API server has no ${resource ?? 'such kind'}` : refused.message;
}
