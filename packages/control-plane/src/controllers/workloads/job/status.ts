import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { formatTime } from '../../../apimachinery/objects/object-text.ts';
import { defined, items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { isDying, isReady, phaseOf } from '../../objects/fields.ts';
import { hasFailed, hasPlace, isIndexed, isTracked, type JobCount, uidOf } from './count.ts';
import { completionOf, type End, isSuspended } from './end.ts';
import { formatIndexes, indexOf } from './indexes.ts';
import { assessFailure } from './policy.ts';

const MOST_NOTED = 500;

interface JobEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface Done {
  readonly made: number;
  readonly deleted: readonly ApiObject[];
}

export interface JobReport {
  readonly status: Plain;
  readonly release: readonly ApiObject[];
  readonly events: readonly JobEvent[];
}

interface Tracking {
  readonly release: readonly ApiObject[];
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  /** Whether the number of ended pods exceeds the number of pods that the status can list. */
  readonly isFull: boolean;
}

/** An annotation of the last failed pod contains the number of failures, which the successor needs. */
const mayGo = (job: ApiObject, count: JobCount, end: End | undefined, pod: ApiObject): boolean =>
  isDying(job) ||
  end !== undefined ||
  phaseOf(pod) === 'Succeeded' ||
  (hasFailed(job, pod) && count.lastFailed.get(indexOf(pod) ?? -1) !== pod);

/** Adds ended pods to the status, as `trackJobStatusAndRemoveFinalizers` in Kubernetes. */
function track(job: ApiObject, pods: readonly ApiObject[], count: JobCount, end: End | undefined): Tracking {
  const release: ApiObject[] = [];
  const succeeded = [...count.uncounted.succeeded];
  const failed = [...count.uncounted.failed];
  let newIndexes = 0;
  const sorted = isIndexed(job) ? [...pods].sort((a, b) => (indexOf(a) ?? -1) - (indexOf(b) ?? -1)) : pods;
  for (const pod of sorted) {
    if (!isTracked(pod) || !mayGo(job, count, end, pod)) continue;
    release.push(pod);
    const uid = uidOf(pod);
    if (phaseOf(pod) === 'Succeeded' && !failed.includes(uid)) {
      // In an indexed job, the status lists the index of a succeeded pod instead of its UID.
      if (isIndexed(job)) newIndexes++;
      else if (!succeeded.includes(uid)) succeeded.push(uid);
    } else if (hasFailed(job, pod) || end?.type === 'FailureTarget') {
      // When a job fails, every pod that did not succeed counts as failed.
      if (!failed.includes(uid) && hasPlace(job, pod) && assessFailure(job, pod).counts) failed.push(uid);
    }
    if (newIndexes + succeeded.length + failed.length >= MOST_NOTED)
      return { release, succeeded, failed, isFull: true };
  }
  return { release, succeeded, failed, isFull: false };
}

interface Facts {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Sets a condition of a Job. */
function withCondition(conditions: readonly Plain[], facts: Facts, now: Date): readonly Plain[] {
  const old = conditions.find(({ type }) => type === facts.type);
  const at = formatTime(now);
  const made = { ...facts, lastProbeTime: at, lastTransitionTime: at };
  if (old === undefined) return facts.status === 'False' ? conditions : [...conditions, made];
  const isSame = old.status === facts.status && old.reason === facts.reason && old.message === facts.message;
  return isSame ? conditions : conditions.map((one) => (one === old ? made : one));
}

function finishEvents(job: ApiObject, type: 'Complete' | 'Failed', end: End, succeeded: number): JobEvent[] {
  if (type === 'Failed') return [{ type: 'Warning', reason: end.reason, message: end.message }];
  const completed: JobEvent = { type: 'Normal', reason: 'Completed', message: 'Job completed' };
  const completions = number(look(job, 'spec'), 'completions');
  if (completions === undefined || succeeded <= completions) return [completed];
  const message = 'Too many succeeded pods running after completion count reached';
  return [{ type: 'Warning', reason: 'TooManySucceededPods', message }, completed];
}

/**
 * Returns the new status of a Job, as `syncJob` in Kubernetes.
 * - `known`: the result of the Job at the start of the sync, or undefined if the sync could not delete some pods
 * - `isManaged`: whether the sync created or deleted pods of a Job that has no result
 */
export function reportJob(
  job: ApiObject,
  pods: readonly ApiObject[],
  count: JobCount,
  { made, deleted }: Done,
  known: End | undefined,
  isManaged: boolean,
  now: Date,
): JobReport {
  const old = look(job, 'status');
  const active = count.active.length - deleted.length + made;
  const terminating = count.terminating + deleted.length;
  const end = known ?? (isManaged || isDying(job) ? completionOf(job, count, active) : undefined);
  const events: JobEvent[] = [];
  let conditions: readonly Plain[] = items(old, 'conditions');
  let startTime = text(old, 'startTime');
  if (startTime === '' && !isSuspended(job)) startTime = formatTime(now);
  if (end === undefined && isManaged) {
    const facts: Facts = isSuspended(job)
      ? { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }
      : { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' };
    const next = withCondition(conditions, facts, now);
    if (next !== conditions) {
      const reason = isSuspended(job) ? 'Suspended' : 'Resumed';
      events.push({ type: 'Normal', reason, message: facts.message });
      startTime = isSuspended(job) ? '' : formatTime(now);
    }
    conditions = next;
  }
  const { release, succeeded, failed, isFull } = track(job, pods, count, end);
  const status: Plain = defined({
    startTime: startTime === '' ? null : startTime,
    active,
    ready: count.active.filter((pod) => isReady(pod) && !deleted.includes(pod)).length,
    terminating,
    succeeded: count.counted.succeeded,
    failed: count.counted.failed,
    uncountedTerminatedPods: {
      succeeded: succeeded.length === 0 ? null : succeeded,
      failed: failed.length === 0 ? null : failed,
    },
    completedIndexes: isIndexed(job) ? formatIndexes(count.succeededIndexes) : undefined,
    failedIndexes: count.failedIndexes === undefined ? undefined : formatIndexes(count.failedIndexes),
  });
  if (end !== undefined) {
    conditions = withCondition(conditions, { ...end, status: 'True' }, now);
    if (!isFull && succeeded.length + failed.length === 0 && terminating === 0) {
      const type = end.type === 'SuccessCriteriaMet' ? 'Complete' : 'Failed';
      conditions = withCondition(conditions, { ...end, type, status: 'True' }, now);
      if (type === 'Complete') status.completionTime = formatTime(now);
      events.push(...finishEvents(job, type, end, count.counted.succeeded));
    }
  }
  return { status: { ...status, conditions }, release, events };
}
