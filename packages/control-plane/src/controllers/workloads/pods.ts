import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { defined, items, look, number, type Plain } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { type Api, allowing } from '../client/api.ts';
import { PODS } from '../client/resources.ts';
import type { Recorder } from '../events/events.ts';
import {
  controllerOf,
  isActive,
  isDying,
  isReady,
  nodeNameOf,
  ownerReference,
  phaseOf,
  transitionOf,
} from '../objects/fields.ts';
import { controllerWords } from '../objects/index-words.ts';
import type { Informer } from '../runtime/informer.ts';

export function podOf(owner: ApiObject, template: Plain): Plain {
  const { labels, annotations, finalizers } = look(template, 'metadata');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: defined({
      generateName: `${owner.metadata.name}-`,
      labels,
      annotations,
      finalizers,
      ownerReferences: [ownerReference(owner)],
    }),
    spec: look(template, 'spec'),
  };
}

/** Returns whether a pod is available, or the time at which the pod becomes available. */
export function availability(pod: ApiObject, minReadySeconds: number, now: Date): { available: boolean; at?: Date } {
  if (!isReady(pod)) return { available: false };
  if (minReadySeconds === 0) return { available: true };
  const since = transitionOf(pod, 'Ready');
  if (since === undefined) return { available: false };
  const at = new Date(since.getTime() + minReadySeconds * 1000);
  return at <= now ? { available: true } : { available: false, at };
}

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

function deletionCostOf(pod: ApiObject): number {
  const value = pod.metadata.annotations?.[DELETION_COST] ?? '';
  const cost = /^(0|-?[1-9]\d*)$/.test(value) ? Number(value) : 0;
  return cost === (cost | 0) ? cost : 0;
}

const mostRestarts = (statuses: readonly Plain[]): number =>
  Math.max(0, ...statuses.map((one) => number(one, 'restartCount') ?? 0));

function restartsOf(pod: ApiObject): readonly [number, number] {
  const status = look(pod, 'status');
  const sidecars = items(look(pod, 'spec'), 'initContainers').filter((one) => one.restartPolicy === 'Always');
  const names = new Set(sidecars.map(({ name }) => name));
  const ofSidecars = items(status, 'initContainerStatuses').filter(({ name }) => names.has(name));
  return [mostRestarts(items(status, 'containerStatuses')), mostRestarts(ofSidecars)];
}

const PHASES = ['Pending', 'Unknown', 'Running'];

/** Returns the values by which a scale-down sorts a pod. */
function worth(pod: ApiObject, crowd: ReadonlyMap<string, number> | undefined): readonly number[] {
  const state = [nodeNameOf(pod) === '' ? 0 : 1, PHASES.indexOf(phaseOf(pod)), isReady(pod) ? 1 : 0];
  if (crowd === undefined) return state;
  // The set first deletes pods on nodes that run many pods of the set.
  return [...state, deletionCostOf(pod), -(crowd.get(nodeNameOf(pod)) ?? 0)];
}

/** Returns the truncated binary logarithm of a pod's age, so that two pods of similar age have the same value. */
const magnitude = (since: number, now: Date): number =>
  now.getTime() > since ? Math.trunc(Math.log2((now.getTime() - since) * 1e6)) : -1;

/**
 * If two ages have the same logarithm, the UID determines the order. A scale-down therefore does not always delete the
 * newest pods.
 */
function byAge(a: ApiObject, b: ApiObject, timeOf: (pod: ApiObject) => number, now: Date | undefined): number {
  const [since, other] = [timeOf(a), timeOf(b)];
  if (since === other) return 0;
  if (since === 0 || other === 0) return since === 0 ? -1 : 1;
  if (now === undefined) return other - since;
  return magnitude(since, now) - magnitude(other, now) || ((a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1);
}

const readySince = (pod: ApiObject): number => transitionOf(pod, 'Ready')?.getTime() ?? 0;
const createdAt = (pod: ApiObject): number => new Date(pod.metadata.creationTimestamp ?? 0).getTime();

const firstDifference = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, index) => value - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;

function sortByWorth(
  pods: readonly ApiObject[],
  now: Date | undefined,
  crowd: ReadonlyMap<string, number> | undefined,
): ApiObject[] {
  const ranked = pods.map((pod) => ({ pod, worth: worth(pod, crowd), restarts: restartsOf(pod) }));
  ranked.sort(
    (a, b) =>
      firstDifference(a.worth, b.worth) ||
      (isReady(a.pod) ? byAge(a.pod, b.pod, readySince, now) : 0) ||
      firstDifference(b.restarts, a.restarts) ||
      byAge(a.pod, b.pod, createdAt, now) ||
      ((a.pod.metadata.name ?? '') < (b.pod.metadata.name ?? '') ? -1 : 1),
  );
  return ranked.map(({ pod }) => pod);
}

/**
 * Sorts pods in the order in which a set deletes them (`ActivePodsWithRanks`).
 * @param now The current time. With `now`, the function compares the logarithms of the ages. Without `now`, the
 * function compares the times.
 * @param related The pods that the function counts for each node (default: `pods`).
 */
export function byWorth(pods: readonly ApiObject[], now?: Date, related: readonly ApiObject[] = pods): ApiObject[] {
  const crowd = new Map<string, number>();
  for (const pod of related) crowd.set(nodeNameOf(pod), (crowd.get(nodeNameOf(pod)) ?? 0) + 1);
  return sortByWorth(pods, now, crowd);
}

/** Sorts pods in the order in which a job deletes them (`ActivePods`). */
export const byState = (pods: readonly ApiObject[]): ApiObject[] => sortByWorth(pods, undefined, undefined);

/** Returns a copy of a pod with a deletion time. */
const dying = (pod: ApiObject): ApiObject => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: pod.metadata.creationTimestamp ?? '' },
});

/** The cached pods of an owner, with the recent creations and deletions of this controller. */
export class OwnedPods {
  readonly #api: Api;
  readonly #of: (uid: string) => ApiObject[];
  readonly #pods: Informer;
  /** The creations and deletions of pods that the cache does not contain yet, for each owner. */
  readonly #made = new Map<string, Map<string, ApiObject>>();
  readonly #deleted = new Set<string>();

  readonly #tell: Recorder | undefined;

  /** @param tell Writes an event about the owner for each created or deleted pod, and for each failed request. */
  constructor(api: Api, pods: Informer, tell?: Recorder) {
    this.#api = api;
    this.#pods = pods;
    this.#tell = tell;
    this.#of = pods.index(controllerWords);
    pods.onChange(({ type, object }) => {
      const owner = controllerOf(object);
      const { uid = '' } = object.metadata;
      if (owner !== undefined) this.#made.get(owner.uid)?.delete(uid);
      if (type === 'deleted' || isDying(object)) this.#deleted.delete(uid);
    });
  }

  /** If this controller deleted a pod, the pod counts as terminating immediately. */
  all(owner: ApiObject): ApiObject[] {
    const { uid = '' } = owner.metadata;
    const pods = [...this.#of(uid), ...(this.#made.get(uid)?.values() ?? [])];
    if (this.#deleted.size === 0) return pods;
    return pods.map((pod) => (!isDying(pod) && this.#deleted.has(pod.metadata.uid ?? '') ? dying(pod) : pod));
  }

  active(owner: ApiObject): ApiObject[] {
    return this.all(owner).filter((pod) => isActive(pod) && !this.#deleted.has(pod.metadata.uid ?? ''));
  }

  /** Counts an adopted pod as a pod of the owner until the cache contains the new owner. */
  took(owner: ApiObject, pod: ApiObject): void {
    const { namespace, name, uid = '' } = pod.metadata;
    const cached = this.#pods.get(`${namespace}/${name}`);
    if (cached !== undefined && controllerOf(cached)?.uid === owner.metadata.uid) return;
    this.#remember(owner.metadata.uid ?? '', uid, pod);
  }

  #remember(owner: string, uid: string, pod: ApiObject): void {
    const known = this.#made.get(owner) ?? new Map<string, ApiObject>();
    this.#made.set(owner, known.set(uid, pod));
  }

  /** @throws StatusError if the API server refuses the pod */
  async create(owner: ApiObject, pod: Plain): Promise<ApiObject> {
    const { uid = '', namespace = '' } = owner.metadata;
    const made = await this.#api.create(PODS, pod, { namespace }).catch((error: unknown) => {
      if (error instanceof StatusError && !isTerminating(error)) {
        this.#tell?.(owner, 'Warning', 'FailedCreate', `Error creating: ${error.message}`);
      }
      throw error;
    });
    const { name = '' } = made.metadata;
    this.#tell?.(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${name}`);
    const seen = this.#pods.get(`${namespace}/${name}`)?.metadata.uid === made.metadata.uid;
    if (!seen) this.#remember(uid, made.metadata.uid ?? '', made);
    return made;
  }

  /**
   * Deletes a pod, unless another client has already deleted or replaced the pod.
   * @param owner the object of the event about the deletion
   * @throws StatusError if the API server refuses the deletion
   */
  async delete(pod: ApiObject, owner?: ApiObject): Promise<void> {
    const { uid = '', namespace, name } = pod.metadata;
    if (this.#deleted.has(uid)) return;
    this.#deleted.add(uid);
    try {
      const gone = await allowing(this.#api.delete(PODS, { namespace, name }, { preconditions: { uid } }), 404, 409);
      if (gone !== undefined && owner !== undefined) {
        this.#tell?.(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
      }
    } catch (error) {
      this.#deleted.delete(uid);
      if (owner !== undefined && error instanceof StatusError) {
        this.#tell?.(owner, 'Warning', 'FailedDelete', `Error deleting: ${error.message}`);
      }
      throw error;
    }
    const cached = this.#pods.get(`${namespace}/${name}`);
    if (cached === undefined || cached.metadata.uid !== uid || isDying(cached)) this.#deleted.delete(uid);
  }

  forget(uid: string): void {
    this.#made.delete(uid);
  }
}

export const isTerminating = (error: unknown): boolean =>
  error instanceof StatusError && error.status.code === 403 && error.message.includes('because it is being terminated');

const FIRST_BATCH = 1;
const BURST = 500;

/**
 * Each batch is twice as large as the batch before, and a failure stops the batches (`slowStartBatch`).
 * @throws the error of the first failed request
 */
export async function inBatches(
  count: number,
  work: (index: number) => Promise<unknown>,
  most: number = BURST,
): Promise<void> {
  const end = Math.min(count, most);
  for (let size = FIRST_BATCH, done = 0; done < end; size *= 2) {
    const batch = Array.from({ length: Math.min(end - done, size) }, (_, index) => done + index);
    const results = await Promise.allSettled(batch.map(work));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    done += batch.length;
  }
}

export function countPods(
  pods: readonly ApiObject[],
  minReadySeconds: number,
  now: Date,
): { ready: number; available: number; lookAgainAt: Date | undefined } {
  let ready = 0;
  let available = 0;
  let lookAgainAt: Date | undefined;
  for (const pod of pods) {
    if (!isReady(pod)) continue;
    ready++;
    const state = availability(pod, minReadySeconds, now);
    if (state.available) available++;
    else if (state.at !== undefined && (lookAgainAt === undefined || state.at < lookAgainAt)) lookAgainAt = state.at;
  }
  return { ready, available, lookAgainAt };
}

export const minReadySecondsOf = (object: ApiObject): number => number(look(object, 'spec'), 'minReadySeconds') ?? 0;

export const replicasOf = (object: ApiObject): number => number(look(object, 'spec'), 'replicas') ?? 1;
