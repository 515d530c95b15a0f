import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { isDying, isTerminal } from '../../objects/fields.ts';
import { byState } from '../pods.ts';
import { isIndexed, type JobCount, perIndexLimit, replacesFailedOnly, triesOf } from './count.ts';
import { isSuspended } from './end.ts';
import { indexOf } from './indexes.ts';
import { type Backoff, finishedAt, waitFor } from './times.ts';

const MOST_AT_ONCE = 500;

export interface NewPod {
  readonly index: number | undefined;
  readonly previous: ApiObject | undefined;
}

export interface PodPlan {
  readonly create: readonly NewPod[];
  readonly delete: readonly ApiObject[];
  readonly lookAgainAt?: number | undefined;
}

export const NOTHING: PodPlan = { create: [], delete: [] };

/**
 * Returns surplus pods. Pods with a duplicate index are first. All other pods have the order of `activePodsForRemoval`
 * in Kubernetes.
 */
function surplus(job: ApiObject, active: readonly ApiObject[], least: number): readonly ApiObject[] {
  const twice: ApiObject[] = [];
  const others: ApiObject[] = [];
  const seen = new Set<number>();
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  for (const pod of byState(active).reverse()) {
    const index = indexOf(pod);
    if (!isIndexed(job)) others.push(pod);
    else if (index === undefined || index >= completions || seen.has(index)) twice.push(pod);
    else {
      seen.add(index);
      others.push(pod);
    }
  }
  return [...twice, ...byState(others).slice(0, Math.max(0, least - twice.length))].slice(0, MOST_AT_ONCE);
}

function pendingIndexes(job: ApiObject, count: JobCount, pods: readonly ApiObject[], wanted: number): number[] {
  const taken = new Set<number | undefined>([...count.succeededIndexes, ...(count.failedIndexes ?? [])]);
  for (const pod of count.active) taken.add(indexOf(pod));
  if (replacesFailedOnly(job)) for (const pod of pods) if (isDying(pod) && !isTerminal(pod)) taken.add(indexOf(pod));
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  const free: number[] = [];
  for (let index = 0; index < completions && free.length < wanted; index++) if (!taken.has(index)) free.push(index);
  return free;
}

/** Plans the pods of a Job, as `manageJob` in Kubernetes. */
export function planPods(
  job: ApiObject,
  count: JobCount,
  pods: readonly ApiObject[],
  backoff: Backoff,
  now: Date,
): PodPlan {
  const { active } = count;
  if (isSuspended(job)) return { create: [], delete: active };
  const spec = look(job, 'spec');
  const parallelism = number(spec, 'parallelism') ?? 1;
  const completions = number(spec, 'completions');
  const left = completions === undefined ? parallelism : Math.max(0, completions - count.succeeded);
  const wanted = completions === undefined && count.succeeded > 0 ? active.length : Math.min(left, parallelism);
  const tooMany = surplus(job, active, Math.max(0, active.length - wanted));
  if (tooMany.length > 0) return { create: [], delete: tooMany };
  const lacking = wanted - (replacesFailedOnly(job) ? count.terminating : 0) - active.length;
  if (lacking <= 0) return NOTHING;
  const at = backoff.lastFailure + waitFor(backoff.failures);
  if (perIndexLimit(job) === undefined && at > now.getTime()) return { ...NOTHING, lookAgainAt: at };
  const missing = Math.min(lacking, MOST_AT_ONCE);
  if (isIndexed(job)) return planIndexes(pendingIndexes(job, count, pods, missing), count, now);
  return { create: Array.from({ length: missing }, () => ({ index: undefined, previous: undefined })), delete: [] };
}

/**
 * Plans the pods of a job with a limit per index. Each index has its own delay. Every failure delays the next pod, even
 * a failure that does not count for the limit.
 */
function planIndexes(indexes: readonly number[], count: JobCount, now: Date): PodPlan {
  const create: NewPod[] = [];
  let lookAgainAt: number | undefined;
  for (const index of indexes) {
    const previous = count.lastFailed.get(index);
    const at = previous === undefined ? 0 : finishedAt(previous) + waitFor(triesOf(previous) + 1);
    if (at <= now.getTime()) create.push({ index, previous });
    else lookAgainAt = Math.min(lookAgainAt ?? at, at);
  }
  return { create, delete: [], lookAgainAt };
}
