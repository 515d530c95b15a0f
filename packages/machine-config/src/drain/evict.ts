import type { Attempt, DrainPod } from '@mcm/core';
import { ignoreNotFound, isForbidden, isTooManyRequests, type KubeClient, KubeError, pods } from '@mcm/kube';
import { inParallel } from '../parallel.ts';

/** Evictions at once for one node. */
const PARALLEL = 10;

/** Asks for evictions and notes what the API server said. Only a lost connection or a stop throws. */
export async function evict(
  client: KubeClient,
  going: readonly DrainPod[],
  attempts: Map<string, Attempt>,
  at: Date,
  signal: AbortSignal,
): Promise<void> {
  const note = (uid: string, attempt: Pick<Attempt, 'result' | 'message' | 'retryAfterMs'>) => {
    const before = attempts.get(uid);
    const count = before?.result === attempt.result ? before.count + 1 : 1;
    attempts.set(uid, { ...attempt, at, budgets: '', count });
  };
  await inParallel(going, PARALLEL, async ({ namespace, name, uid }) => {
    const body = {
      ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
      deleteOptions: { preconditions: { uid } },
    };
    try {
      const asked = client.resource(pods, namespace).createSubresource(name, 'eviction', body, { signal });
      await ignoreNotFound(asked);
      note(uid, { result: 'asked', message: '' });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const { message, retryAfterMs } = error;
      note(uid, { result: resultOf(error), message, ...(retryAfterMs !== undefined && { retryAfterMs }) });
    }
  });
}

/** Nothing may be made in a namespace that is being deleted, not even an Eviction. */
function resultOf(error: KubeError): Attempt['result'] {
  const ends = error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false;
  if (isTooManyRequests(error)) return 'blocked';
  return ends && isForbidden(error) ? 'namespaceEnds' : 'failed';
}
