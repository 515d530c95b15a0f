import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { isActive, isDying, isTerminal, phaseOf } from '../../objects/fields.ts';
import { indexOf, parseIndexes } from './indexes.ts';
import { assessFailure } from './policy.ts';
import { finishedAt } from './times.ts';

/** The finalizer of job pods. A pod keeps the finalizer until the status of the job counts the end of the pod. */
export const TRACKING = 'batch.kubernetes.io/job-tracking';
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
export const IGNORED_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';

export const isIndexed = (job: ApiObject): boolean => look(job, 'spec').completionMode === 'Indexed';
export const isTracked = (pod: ApiObject): boolean => pod.metadata.finalizers?.includes(TRACKING) === true;
export const perIndexLimit = (job: ApiObject): number | undefined =>
  isIndexed(job) ? number(look(job, 'spec'), 'backoffLimitPerIndex') : undefined;

/** Returns whether a job waits until a terminating pod has failed before the job replaces the pod. */
export const replacesFailedOnly = (job: ApiObject): boolean => {
  const { podReplacementPolicy, podFailurePolicy } = look(job, 'spec');
  return podReplacementPolicy === 'Failed' || podFailurePolicy !== undefined;
};

/** Returns whether a pod has failed. A deleted pod counts as failed, because it may never report its end. */
export const hasFailed = (job: ApiObject, pod: ApiObject): boolean =>
  phaseOf(pod) === 'Failed' || (!replacesFailedOnly(job) && isDying(pod) && phaseOf(pod) !== 'Succeeded');

function annotatedCount(pod: ApiObject, annotation: string): number {
  const value = pod.metadata.annotations?.[annotation] ?? '';
  const count = /^[+-]?\d+$/.test(value) ? Number(value) : 0;
  return count >= 0 && count <= 2 ** 31 - 1 ? count : 0;
}

export const failureCountOf = (pod: ApiObject): number => annotatedCount(pod, FAILURE_COUNT);
export const ignoredCountOf = (pod: ApiObject): number => annotatedCount(pod, IGNORED_COUNT);
/** Returns the number of failures that determines the delay of the next pod. */
export const triesOf = (pod: ApiObject): number => failureCountOf(pod) + ignoredCountOf(pod);

export const uidOf = (pod: ApiObject): string => pod.metadata.uid ?? '';

/** Returns whether a pod has an index of its job. */
export function hasPlace(job: ApiObject, pod: ApiObject): boolean {
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  return !isIndexed(job) || (indexOf(pod) ?? completions) < completions;
}

export interface JobCount {
  readonly active: readonly ApiObject[];
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly counted: { readonly succeeded: number; readonly failed: number };
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly succeededIndexes: ReadonlySet<number>;
  /** The failed indexes of a job with a limit per index. For any other job, `failedIndexes` is undefined. */
  readonly failedIndexes: ReadonlySet<number> | undefined;
  readonly newlyFailed: readonly ApiObject[];
  readonly newlySucceeded: readonly ApiObject[];
  /** The last failed pod of each index. An annotation of this pod contains the number of attempts. */
  readonly lastFailed: ReadonlyMap<number, ApiObject>;
}

function endsIndex(job: ApiObject, pod: ApiObject): boolean {
  const { action, counts } = assessFailure(job, pod);
  return action === 'FailIndex' || (counts && failureCountOf(pod) >= (perIndexLimit(job) ?? Number.POSITIVE_INFINITY));
}

const isLater = (pod: ApiObject, other: ApiObject): boolean =>
  triesOf(pod) >= triesOf(other) && finishedAt(pod) >= finishedAt(other);

function lastFailedOf(failed: readonly ApiObject[], settled: (index: number) => boolean): Map<number, ApiObject> {
  const last = new Map<number, ApiObject>();
  for (const pod of failed) {
    const index = indexOf(pod) ?? 0;
    if (settled(index)) continue;
    const known = last.get(index);
    if (known === undefined || isLater(pod, known)) last.set(index, pod);
  }
  return last;
}

/** Returns the UIDs of the counted pods that still have the finalizer, and the number of all other counted pods. */
function notedIn(status: Plain, list: 'succeeded' | 'failed', tracked: ReadonlySet<string>): [string[], number] {
  const noted = strings(look(status, 'uncountedTerminatedPods'), list);
  const kept = noted.filter((uid) => tracked.has(uid));
  return [kept, (number(status, list) ?? 0) + noted.length - kept.length];
}

export function countJob(job: ApiObject, pods: readonly ApiObject[]): JobCount {
  const status = look(job, 'status');
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  const tracked = pods.filter((pod) => isTracked(pod));
  const uids = new Set(tracked.map(uidOf));
  const [keptSucceeded, countedSucceeded] = notedIn(status, 'succeeded', uids);
  const [keptFailed, countedFailed] = notedIn(status, 'failed', uids);
  const candidates = tracked.filter((pod) => hasPlace(job, pod));
  const succeeded = candidates.filter((pod) => phaseOf(pod) === 'Succeeded');
  const newlySucceeded = succeeded.filter((pod) => !keptSucceeded.includes(uidOf(pod)));
  const failed = candidates.filter((pod) => hasFailed(job, pod));
  const newlyFailed = failed.filter((pod) => !keptFailed.includes(uidOf(pod)));
  const active = pods.filter((pod) => isActive(pod));

  const succeededIndexes = parseIndexes(text(status, 'completedIndexes'), completions);
  if (isIndexed(job)) for (const pod of succeeded) succeededIndexes.add(indexOf(pod) ?? 0);
  let failedIndexes: Set<number> | undefined;
  let lastFailed: ReadonlyMap<number, ApiObject> = new Map();
  if (perIndexLimit(job) !== undefined) {
    const ended = parseIndexes(text(status, 'failedIndexes'), completions);
    for (const pod of failed) if (endsIndex(job, pod)) ended.add(indexOf(pod) ?? 0);
    const busy = new Set(active.map(indexOf));
    lastFailed = lastFailedOf(failed, (index) => succeededIndexes.has(index) || ended.has(index) || busy.has(index));
    failedIndexes = ended;
  }
  return {
    active,
    terminating: pods.filter((pod) => isDying(pod) && !isTerminal(pod)).length,
    succeeded: isIndexed(job) ? succeededIndexes.size : countedSucceeded + keptSucceeded.length + newlySucceeded.length,
    failed: countedFailed + keptFailed.length + newlyFailed.filter((pod) => assessFailure(job, pod).counts).length,
    counted: { succeeded: isIndexed(job) ? succeededIndexes.size : countedSucceeded, failed: countedFailed },
    uncounted: { succeeded: keptSucceeded, failed: keptFailed },
    succeededIndexes,
    failedIndexes,
    newlyFailed,
    newlySucceeded,
    lastFailed,
  };
}

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
