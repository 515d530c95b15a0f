import type { KubeClient } from '../contract/client.ts';
import { isNotFound, KubeError } from '../contract/errors.ts';
import { pods } from '../types/core.ts';

/** A pod, and no later one of the same name. */
export interface EvictedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * What became of the request. `asked`: the eviction was accepted. `gone`: there is no such pod. `deleted`: the API
 * server has no eviction API, so the pod was deleted with its own grace period and without its budgets. `kept`: it has
 * none, and the caller does not let the pod be deleted.
 */
export type Eviction = 'asked' | 'gone' | 'deleted' | 'kept';

/** The version that servers have since Kubernetes 1.22, then the one before it. */
const VERSIONS = ['policy/v1', 'policy/v1beta1'] as const;

/** A webhook that refuses an eviction without a code of its own answers 400. */
const isDenied = ({ message }: KubeError): boolean => message.includes('denied the request');

/** An API server names the object that it did not find. For a path that it does not serve it names none. */
const namesObject = ({ status }: KubeError): boolean => Boolean(status.details?.name);

/** Whether the answer is an API server's own. A proxy in front of it answers 404 too, in its own words. */
const isStatus = ({ status }: KubeError): boolean => status.message !== undefined;

/**
 * Evicts a pod, or deletes it where the API server has no eviction API, as kubectl does.
 * @param mayDelete asked once, before a deletion that takes the place of the eviction; default: always
 * @throws KubeError 429 when a budget forbids it now (never waited for); any other refusal
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
      ...{ apiVersion, kind: 'Eviction', metadata: { name, namespace } },
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
