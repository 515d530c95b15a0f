import { isForbidden, isNotFound, type KubeClient } from '@mcm/kube';
import { UserError } from '../command/errors.ts';

interface Namespace {
  readonly metadata: { readonly deletionTimestamp?: string };
}

/**
 * @returns true if the namespace was created
 * @throws UserError if the namespace is in deletion, or if the user may not create it
 */
export async function ensureNamespace(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  const path = '/api/v1/namespaces';
  try {
    const { metadata } = await client.request<Namespace>('GET', `${path}/${encodeURIComponent(name)}`, { signal });
    if (metadata.deletionTimestamp === undefined) return false;
    throw new UserError(
      `namespace ${name} is being deleted; wait for the end of the deletion, or use another --namespace`,
    );
  } catch (error) {
    if (isForbidden(error)) return false;
    if (!isNotFound(error)) throw error;
  }
  try {
    await client.request('POST', path, {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      signal,
    });
    return true;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new UserError(
      `namespace ${name} does not exist, and the credentials cannot create the namespace (${error.message}); first: kubectl create namespace ${name}`,
    );
  }
}
