import type { Attempt, DrainPod } from '@mcm/core';
import { evictPod, isForbidden, isTooManyRequests, type KubeClient, KubeError } from '@mcm/kube';
import { inParallel } from '../controllers/parallel.ts';

const PARALLEL = 10;

export interface EvictOptions {
  readonly attempts: Map<string, Attempt>;
  readonly at: Date;
  readonly signal: AbortSignal;
  /** Returns true if the budgets allow the deletion of the pod. */
  readonly mayDelete: (pod: DrainPod) => boolean;
}

/** Evicts pods, and throws only if the connection is lost or the process stops. */
export async function evict(
  client: KubeClient,
  going: readonly DrainPod[],
  { attempts, at, signal, mayDelete }: EvictOptions,
): Promise<readonly DrainPod[]> {
  const deleted: DrainPod[] = [];
  const note = (uid: string, attempt: Pick<Attempt, 'result' | 'message' | 'retryAfterMs'>) => {
    const before = attempts.get(uid);
    const count = before?.result === attempt.result ? before.count + 1 : 1;
    attempts.set(uid, { ...attempt, at, budgets: '', count });
  };
  await inParallel(going, PARALLEL, async (pod) => {
    const { uid } = pod;
    try {
      const eviction = await evictPod(client, pod, signal, () => mayDelete(pod));
      if (eviction === 'deleted') deleted.push(pod);
      if (eviction === 'kept') note(uid, { result: 'blocked', message: KEPT });
      else note(uid, { result: 'asked', message: '' });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const { message, retryAfterMs } = error;
      note(uid, { result: resultOf(error), message, retryAfterMs });
    }
  });
  return deleted;
}

const KEPT = 'the API server has no eviction API, and a PodDisruptionBudget allows no disruption now';

/**
 * Returns the result of a failed eviction. In a terminating namespace, the API server refuses all new objects,
 * including Evictions.
 */
function resultOf(error: KubeError): Attempt['result'] {
  const ends = error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false;
  if (isTooManyRequests(error)) return 'blocked';
  return ends && isForbidden(error) ? 'namespaceEnds' : 'failed';
}
