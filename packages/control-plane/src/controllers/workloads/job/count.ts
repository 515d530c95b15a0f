import { items, look, number, type Plain, strings, text } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { isActive, isDying, isTerminal, phaseOf } from '../../runtime/objects.ts';
import { indexOf, parseIndexes } from './indexes.ts';
import { judgeFailure } from './policy.ts';

/** A pod carries this until its end is written down in its job's status. */
export const TRACKING = 'batch.kubernetes.io/job-tracking';
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
export const IGNORED_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';

export const isIndexed = (job: ApiObject): boolean => look(job, 'spec').completionMode === 'Indexed';
export const isTracked = (pod: ApiObject): boolean => pod.metadata.finalizers?.includes(TRACKING) === true;
export const perIndexLimit = (job: ApiObject): number | undefined =>
  isIndexed(job) ? number(look(job, 'spec'), 'backoffLimitPerIndex') : undefined;

/** Whether a pod is replaced only once it has failed for good, and not as soon as it is being deleted. */
export const replacesFailedOnly = (job: ApiObject): boolean => look(job, 'spec').podReplacementPolicy === 'Failed';

/** A deleted pod counts as failed too: it may never get to say so. */
export const hasFailed = (job: ApiObject, pod: ApiObject): boolean =>
  phaseOf(pod) === 'Failed' || (!replacesFailedOnly(job) && isDying(pod) && phaseOf(pod) !== 'Succeeded');

export const failureCountOf = (pod: ApiObject): number => Number(pod.metadata.annotations?.[FAILURE_COUNT] ?? 0) || 0;

const uidOf = (pod: ApiObject): string => pod.metadata.uid ?? '';

/** What has become of a job's pods: numbers written down before, and those that are new. */
export interface JobCount {
  readonly active: readonly ApiObject[];
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Counters of the status with the pods whose end is safely written down. */
  readonly counted: { readonly succeeded: number; readonly failed: number };
  /** Written in the status as ended and still carrying the finalizer. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly succeededIndexes: ReadonlySet<number>;
  /** undefined without a limit per index. */
  readonly failedIndexes: ReadonlySet<number> | undefined;
  /** Tracked pods that have failed, new or not. */
  readonly failedPods: readonly ApiObject[];
  readonly newlyFailed: readonly ApiObject[];
  /** Pods that ended well, new ones, beside indexes. */
  readonly newlySucceeded: readonly ApiObject[];
  /** The last failed pod of an index that has no successor yet: it tells the next one how often it was tried. */
  readonly lastFailed: ReadonlyMap<number, ApiObject>;
}

/** Whether a failed pod is the end of its index. */
function endsIndex(job: ApiObject, pod: ApiObject): boolean {
  if (!hasFailed(job, pod)) return false;
  const { action, counts } = judgeFailure(job, pod);
  if (action === 'FailIndex') return true;
  return counts && failureCountOf(pod) >= (perIndexLimit(job) ?? Number.POSITIVE_INFINITY);
}

/** Counts a job's pods. */
export function countJob(job: ApiObject, pods: readonly ApiObject[]): JobCount {
  const status = look(job, 'status');
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  const indexed = isIndexed(job);
  const hasPlace = (pod: ApiObject): boolean => !indexed || (indexOf(pod) ?? completions) < completions;
  const tracked = pods.filter((pod) => isTracked(pod));
  const trackedUids = new Set(tracked.map(uidOf));
  const noted = {
    succeeded: strings(look(status, 'uncountedTerminatedPods'), 'succeeded'),
    failed: strings(look(status, 'uncountedTerminatedPods'), 'failed'),
  };
  const kept = {
    succeeded: noted.succeeded.filter((uid) => trackedUids.has(uid)),
    failed: noted.failed.filter((uid) => trackedUids.has(uid)),
  };
  const counted = {
    succeeded: (number(status, 'succeeded') ?? 0) + noted.succeeded.length - kept.succeeded.length,
    failed: (number(status, 'failed') ?? 0) + noted.failed.length - kept.failed.length,
  };
  const candidates = tracked.filter(hasPlace);
  const newlySucceeded = candidates.filter(
    (pod) => phaseOf(pod) === 'Succeeded' && !kept.succeeded.includes(uidOf(pod)),
  );
  const failedPods = candidates.filter((pod) => hasFailed(job, pod));
  const newlyFailed = failedPods.filter((pod) => !kept.failed.includes(uidOf(pod)));
  const counting = newlyFailed.filter((pod) => judgeFailure(job, pod).counts);

  const succeededIndexes = parseIndexes(text(status, 'completedIndexes'), completions);
  let failedIndexes: Set<number> | undefined;
  const lastFailed = new Map<number, ApiObject>();
  if (indexed) {
    for (const pod of newlySucceeded) succeededIndexes.add(indexOf(pod) ?? 0);
  }
  const active = pods.filter((pod) => isActive(pod));
  if (perIndexLimit(job) !== undefined) {
    failedIndexes = parseIndexes(text(status, 'failedIndexes'), completions);
    for (const pod of failedPods) if (endsIndex(job, pod)) failedIndexes.add(indexOf(pod) ?? 0);
    const busy = new Set(active.map(indexOf));
    for (const pod of failedPods) {
      const index = indexOf(pod) ?? 0;
      if (succeededIndexes.has(index) || failedIndexes.has(index) || busy.has(index)) continue;
      const known = lastFailed.get(index);
      if (known === undefined || failureCountOf(pod) >= failureCountOf(known)) lastFailed.set(index, pod);
    }
  }
  return {
    active,
    terminating: pods.filter((pod) => isDying(pod) && !isTerminal(pod)).length,
    succeeded: indexed ? succeededIndexes.size : counted.succeeded + kept.succeeded.length + newlySucceeded.length,
    failed: counted.failed + kept.failed.length + counting.length,
    counted: indexed ? { ...counted, succeeded: succeededIndexes.size } : counted,
    uncounted: {
      succeeded: indexed ? [] : [...kept.succeeded, ...newlySucceeded.map(uidOf)],
      failed: [...kept.failed, ...counting.map(uidOf)],
    },
    succeededIndexes,
    failedIndexes,
    failedPods,
    newlyFailed,
    newlySucceeded,
    lastFailed,
  };
}

/** How often the containers of a job's pods were started again where they stand. */
export function restartsOf(pods: readonly ApiObject[]): number {
  let restarts = 0;
  for (const pod of pods) {
    if (phaseOf(pod) !== 'Running' && phaseOf(pod) !== 'Pending') continue;
    const status: Plain = look(pod, 'status');
    for (const container of [...items(status, 'initContainerStatuses'), ...items(status, 'containerStatuses')]) {
      restarts += number(container, 'restartCount') ?? 0;
    }
  }
  return restarts;
}
