import type { KubeClient } from '../contract/client.ts';
import { isDenied, isNotFound, KubeError } from '../contract/errors.ts';
import { pods } from '../types/core.ts';

/** The pod to evict; the UID prevents the eviction of a later pod with an equal name. */
export interface EvictedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * The result of an eviction, one of four values:
 * - `asked`: the API server accepted the eviction.
 * - `gone`: the pod does not exist.
 * - `deleted`: the API server has no eviction API, so mcm deleted the pod, and disruption budgets did not apply.
 * - `kept`: the API server has no eviction API and the caller forbids the deletion, so the pod stays.
 */
export type Eviction = 'asked' | 'gone' | 'deleted' | 'kept';

/**
 * The API versions of evictions: Kubernetes 1.22 and later serve policy/v1, and earlier releases serve policy/v1beta1.
 */
const VERSIONS = ['policy/v1', 'policy/v1beta1'] as const;

/**
 * Returns true if the 404 response contains the name of an object, which means that the object is missing. If the API
 * server does not serve the path, the 404 response contains no name.
 */
const namesObject = ({ status }: KubeError): boolean => Boolean(status.details?.name);

/** A 404 response of a proxy is not a Kubernetes Status. */
const isStatus = ({ status }: KubeError): boolean => status.message !== undefined;

/**
 * Evicts a pod. If the API server has no eviction API, deletes the pod, as kubectl does.
 * @param mayDelete Called once before a deletion that replaces the eviction (default: true).
 * @throws KubeError for a refusal, with the code 429 if a disruption budget does not allow the eviction now
 */
export async function evictPod(
  client: KubeClient,
  pod: EvictedPod,
  signal: AbortSignal,
  mayDelete: () => boolean = () => true,
): Promise<Eviction> {
  const fallBack = async (): Promise<Eviction> => (mayDelete() ? remove(client, pod, signal) : 'kept');
  for (const version of VERSIONS) {
    try {
      await post(client, pod, version, signal);
      return 'asked';
    } catch (error) {
      if (isNotFound(error)) {
        if (namesObject(error)) return 'gone';
        if (!isStatus(error) && (await listsEviction(client, signal))) throw error;
        return fallBack();
      }
      if (!(error instanceof KubeError) || error.code !== 400 || isDenied(error)) throw error;
    }
  }
  return fallBack();
}

const post = (client: KubeClient, { namespace, name, uid }: EvictedPod, apiVersion: string, signal: AbortSignal) =>
  client.resource(pods, namespace).createSubresource(
    name,
    'eviction',
    {
      apiVersion,
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    },
    { signal },
  );

async function remove(
  client: KubeClient,
  { namespace, name, uid }: EvictedPod,
  signal: AbortSignal,
): Promise<Eviction> {
  try {
    await client.resource(pods, namespace).delete(name, { preconditions: { uid }, signal });
    return 'deleted';
  } catch (error) {
    if (isNotFound(error) && namesObject(error)) return 'gone';
    throw error;
  }
}

interface ApiResources {
  readonly resources?: readonly { readonly name?: string }[];
}

async function listsEviction(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const { resources } = await client.request<ApiResources>('GET', '/api/v1', { signal });
  return resources === undefined || resources.some(({ name }) => name === 'pods/eviction');
}
