import { evictPod, ignoreNotFound, isForbidden, isTooManyRequests, type KubeClient, KubeError, pods } from '@mcm/kube';
import { forcedKey } from './drain.ts';
import { budgetVersions } from './model/budgets.ts';
import type { Attempt, DrainMemory, DrainObservation, DrainPod, PodRef, VolumeMove } from './model/observation.ts';
import { isAskedFor } from './requests/requested.ts';
import { beginMove } from './volumes/volumes.ts';

export interface Requests {
  /** Creates an EvictionRequest for a pod. */
  readonly ask: (pod: PodRef) => Promise<boolean>;
}

interface DrainScope {
  readonly o: { readonly drain?: DrainObservation | undefined };
  readonly memory: { drain: DrainMemory };
  readonly now: Date;
  readonly signal: AbortSignal;
}

/**
 * The number of evictions that one drain sends at the same time. Without the limit, the drain of a node with hundreds
 * of pods would delay other drains.
 */
const PARALLEL = 20;

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, queue.length) }, worker));
}

const observed = ({ o }: DrainScope): ReadonlyMap<string, DrainPod> =>
  new Map((o.drain?.pods ?? []).map((pod) => [pod.uid, pod]));

function note({ memory }: DrainScope, key: string, attempt: Omit<Attempt, 'count'>): void {
  const before = memory.drain.attempts.get(key);
  const count = before?.result === attempt.result ? before.count + 1 : 1;
  const attempts = new Map(memory.drain.attempts).set(key, { ...attempt, count });
  memory.drain = { ...memory.drain, attempts };
}

/**
 * Records that the volumes of a pod move. If the response was lost, the API server may have evicted the pod. The volumes
 * then count toward the limits until the API server refuses a later attempt.
 */
function noteMove({ memory }: DrainScope, uid: string, move: VolumeMove | undefined): void {
  const moves = new Map(memory.drain.moves);
  if (move) moves.set(uid, move);
  else if (!moves.delete(uid)) return;
  memory.drain = { ...memory.drain, moves };
}

const mayHaveEvicted = ({ code }: KubeError): boolean => code === 0 || code === 504;

/**
 * Evicts pods, or creates EvictionRequests for pods that need one. The function throws only if the connection is lost
 * or the process stops.
 * @returns the pods that were deleted instead of evicted, because the API server has no eviction API
 */
export async function evictPods(
  client: KubeClient,
  refs: readonly PodRef[],
  scope: DrainScope,
  requests?: Requests,
): Promise<readonly PodRef[]> {
  const known = observed(scope);
  const deleted: PodRef[] = [];
  await inParallel(refs, async (ref) => {
    const pod = known.get(ref.uid);
    const move = pod && beginMove(pod);
    const attempt = { at: scope.now, budgets: pod ? budgetVersions(pod) : '' };
    try {
      const requested = (await isRequested(pod, scope, requests)) ? ({ requested: true } as const) : {};
      const eviction = requested.requested ? 'asked' : await evictPod(client, ref, scope.signal);
      if (eviction === 'deleted') deleted.push(ref);
      note(scope, ref.uid, { ...attempt, ...requested, result: 'asked', message: '' });
      noteMove(scope, ref.uid, move);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const { message, retryAfterMs } = error;
      const result = refusal(error);
      note(scope, ref.uid, { ...attempt, result, message, retryAfterMs });
      noteMove(scope, ref.uid, mayHaveEvicted(error) ? move : undefined);
    }
  });
  return deleted;
}

/** Returns true if the pod got an EvictionRequest, so that mcm does not evict the pod itself. */
async function isRequested(
  pod: DrainPod | undefined,
  { o, now }: DrainScope,
  requests: Requests | undefined,
): Promise<boolean> {
  if (!pod || !o.drain || !requests || !isAskedFor(o.drain, pod, now)) return false;
  return requests.ask(pod);
}

const refusal = (error: KubeError): Attempt['result'] => {
  const ends = error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false;
  if (isTooManyRequests(error)) return 'blocked';
  return ends && isForbidden(error) ? 'namespaceEnds' : 'failed';
};

export async function deletePods(client: KubeClient, refs: readonly PodRef[], scope: DrainScope): Promise<void> {
  await inParallel(refs, async (ref) => {
    const { namespace, name, uid } = ref;
    const attempt = { at: scope.now, budgets: '' };
    try {
      const options = { gracePeriodSeconds: 0, preconditions: { uid }, signal: scope.signal };
      await ignoreNotFound(client.resource(pods, namespace).delete(name, options));
      note(scope, forcedKey(ref), { ...attempt, result: 'asked', message: '' });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      note(scope, forcedKey(ref), { ...attempt, result: 'failed', message: error.message });
    }
  });
}
