import { items, look, number, type Plain, text } from '../../../kinds/plain.ts';
import type { ApiObject } from '../../../object.ts';
import { isDying, isReady, phaseOf, timestamp } from '../../runtime/objects.ts';
import { byWorth } from '../pods.ts';
import {
  countJob,
  failureCountOf,
  hasFailed,
  isIndexed,
  isTracked,
  type JobCount,
  perIndexLimit,
  replacesFailedOnly,
  restartsOf,
} from './count.ts';
import { formatIndexes, indexOf } from './indexes.ts';
import { judgeFailure, judgeSuccess } from './policy.ts';

const FIRST_BACKOFF_MS = 10_000;
const LAST_BACKOFF_MS = 600_000;

/** Failures since the last success, and when the last was: what the wait before the next pod goes by. */
export interface Backoff {
  readonly failures: number;
  readonly lastFailure: number;
}

/** What an end of a job is called for. */
interface End {
  readonly type: 'SuccessCriteriaMet' | 'FailureTarget';
  readonly reason: string;
  readonly message: string;
}

export interface JobEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What a job's next step is. */
export interface JobStep {
  /** How many pods to make, for an indexed job the indexes of these; `previous`: the pod that one of them replaces. */
  readonly create: readonly { readonly index: number | undefined; readonly previous: ApiObject | undefined }[];
  readonly delete: readonly ApiObject[];
  readonly status: Plain;
  /** Pods whose finalizer goes once the status is written. */
  readonly release: readonly ApiObject[];
  readonly events: readonly JobEvent[];
  readonly lookAgainAt: number | undefined;
}

const conditionOf = (job: ApiObject, type: string): Plain | undefined =>
  items(look(job, 'status'), 'conditions').find((one) => one.type === type && one.status === 'True');

export const isFinished = (job: ApiObject): boolean =>
  conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined;

const isSuspended = (job: ApiObject): boolean => look(job, 'spec').suspend === true;

/** When a job has run for as long as it may; undefined: it may run on. */
function deadlineOf(job: ApiObject): number | undefined {
  const seconds = number(look(job, 'spec'), 'activeDeadlineSeconds');
  const started = text(look(job, 'status'), 'startTime');
  if (seconds === undefined || started === '' || isSuspended(job)) return undefined;
  return new Date(started).getTime() + seconds * 1000;
}

const failure = (reason: string, message: string): End => ({ type: 'FailureTarget', reason, message });

/** Whether a job has come to its end, and which; pods may still have to go. */
function endOf(job: ApiObject, count: JobCount, pods: readonly ApiObject[], now: Date): End | undefined {
  const spec = look(job, 'spec');
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const said = conditionOf(job, type);
    if (said !== undefined) return { type, reason: text(said, 'reason'), message: text(said, 'message') };
  }
  for (const pod of pods.filter((one) => isTracked(one) && hasFailed(job, one))) {
    const { message } = judgeFailure(job, pod);
    if (message !== undefined) return failure('PodFailurePolicy', message);
  }
  const limit = number(spec, 'backoffLimit') ?? 6;
  const restarts = look(spec, 'template', 'spec').restartPolicy === 'OnFailure' ? restartsOf(pods) : 0;
  const isOverRestarts = limit === 0 ? restarts > 0 : restarts >= limit && restarts > 0;
  if (count.failed > limit || isOverRestarts) {
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  }
  const deadline = deadlineOf(job);
  if (deadline !== undefined && now.getTime() >= deadline) {
    return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  }
  if (!isIndexed(job)) return undefined;
  const { failedIndexes, succeededIndexes } = count;
  if (failedIndexes !== undefined) {
    const most = number(spec, 'maxFailedIndexes');
    if (most !== undefined && failedIndexes.size > most) {
      return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
    }
    const done = failedIndexes.size + succeededIndexes.size;
    if (failedIndexes.size > 0 && done >= (number(spec, 'completions') ?? 0)) {
      return failure('FailedIndexes', 'Job has failed indexes');
    }
  }
  const message = judgeSuccess(job, succeededIndexes);
  return message === undefined ? undefined : { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message };
}

/** Pods that are too many: a second one of an index, then the least worth. */
function surplus(job: ApiObject, active: readonly ApiObject[], least: number): readonly ApiObject[] {
  const twice: ApiObject[] = [];
  const others: ApiObject[] = [];
  const seen = new Set<number>();
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  for (const pod of byWorth(active).reverse()) {
    const index = indexOf(pod);
    if (!isIndexed(job)) others.push(pod);
    else if (index === undefined || index >= completions || seen.has(index)) twice.push(pod);
    else {
      seen.add(index);
      others.push(pod);
    }
  }
  return [...twice, ...byWorth(others).slice(0, Math.max(0, least - twice.length))];
}

/** The first indexes that neither have a pod nor are done. */
function pendingIndexes(job: ApiObject, count: JobCount, pods: readonly ApiObject[], wanted: number): number[] {
  const taken = new Set<number | undefined>([...count.succeededIndexes, ...(count.failedIndexes ?? [])]);
  for (const pod of count.active) taken.add(indexOf(pod));
  if (replacesFailedOnly(job)) for (const pod of pods.filter(isDying)) taken.add(indexOf(pod));
  const completions = number(look(job, 'spec'), 'completions') ?? 0;
  const free: number[] = [];
  for (let index = 0; index < completions && free.length < wanted; index++) if (!taken.has(index)) free.push(index);
  return free;
}

const waitFor = (failures: number): number =>
  failures === 0 ? 0 : Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));

const finishedAt = (pod: ApiObject, now: Date): number => {
  const times = items(look(pod, 'status'), 'containerStatuses')
    .map((one) => text(look(one, 'state', 'terminated'), 'finishedAt'))
    .filter((time) => time !== '')
    .map((time) => new Date(time).getTime());
  return times.length > 0 ? Math.max(...times) : now.getTime();
};

/** What the wait goes by after these pods have ended. */
export function nextBackoff(backoff: Backoff, count: JobCount, now: Date): Backoff {
  if (count.newlySucceeded.length > 0 && count.newlyFailed.length === 0) return { failures: 0, lastFailure: 0 };
  if (count.newlyFailed.length === 0) return backoff;
  const lastFailure = Math.max(backoff.lastFailure, ...count.newlyFailed.map((pod) => finishedAt(pod, now)));
  const before = count.newlySucceeded.length > 0 ? 0 : backoff.failures;
  return { failures: before + count.newlyFailed.length, lastFailure };
}

interface Pods {
  readonly create: JobStep['create'];
  readonly delete: readonly ApiObject[];
  readonly lookAgainAt?: number | undefined;
}

/** How many pods there should be, and which to make or give up for it (`manageJob`). */
function planPods(job: ApiObject, count: JobCount, pods: readonly ApiObject[], backoff: Backoff, now: Date): Pods {
  const { active } = count;
  if (isSuspended(job)) return { create: [], delete: active };
  const spec = look(job, 'spec');
  const parallelism = number(spec, 'parallelism') ?? 1;
  const completions = number(spec, 'completions');
  const left = completions === undefined ? parallelism : Math.max(0, completions - count.succeeded);
  const wanted = completions === undefined && count.succeeded > 0 ? active.length : Math.min(left, parallelism);
  const tooMany = surplus(job, active, Math.max(0, active.length - wanted));
  if (tooMany.length > 0) return { create: [], delete: tooMany };
  const missing = wanted - (replacesFailedOnly(job) ? count.terminating : 0) - active.length;
  if (missing <= 0) return { create: [], delete: [] };
  const limit = perIndexLimit(job);
  const at = backoff.lastFailure + waitFor(backoff.failures);
  if (limit === undefined && at > now.getTime()) return { create: [], delete: [], lookAgainAt: at };
  if (!isIndexed(job)) {
    return { create: Array.from({ length: missing }, () => ({ index: undefined, previous: undefined })), delete: [] };
  }
  return planIndexes(pendingIndexes(job, count, pods, missing), count, now);
}

/** Every index waits for itself where each has a limit of its own. */
function planIndexes(indexes: readonly number[], count: JobCount, now: Date): Pods {
  const create: { index: number; previous: ApiObject | undefined }[] = [];
  let lookAgainAt: number | undefined;
  for (const index of indexes) {
    const previous = count.lastFailed.get(index);
    const failures = previous === undefined ? 0 : failureCountOf(previous) + 1;
    const at = previous === undefined ? 0 : finishedAt(previous, new Date(0)) + waitFor(failures);
    if (at <= now.getTime()) create.push({ index, previous });
    else lookAgainAt = Math.min(lookAgainAt ?? at, at);
  }
  return { create, delete: [], lookAgainAt };
}

/** Sets a condition; the list it was given in when it stands with this status already. */
function withCondition(
  conditions: readonly Plain[],
  facts: { type: string; status: 'True' | 'False'; reason: string; message: string },
  now: Date,
): Plain[] {
  const old = conditions.find(({ type }) => type === facts.type);
  const at = timestamp(now);
  if (old === undefined) {
    return facts.status === 'False'
      ? [...conditions]
      : [...conditions, { ...facts, lastProbeTime: at, lastTransitionTime: at }];
  }
  if (old.status === facts.status && old.reason === facts.reason && old.message === facts.message)
    return [...conditions];
  const since = old.status === facts.status ? old.lastTransitionTime : at;
  return conditions.map((one) => (one === old ? { ...facts, lastProbeTime: at, lastTransitionTime: since } : one));
}

/** One look at a job (`syncJob`). `backoff`: what is known of failures, these pods' included. */
export function judgeJob(job: ApiObject, pods: readonly ApiObject[], backoff: Backoff, now: Date): JobStep {
  const count = countJob(job, pods);
  const old = look(job, 'status');
  const spec = look(job, 'spec');
  let conditions = items(old, 'conditions');
  let end = endOf(job, count, pods, now);
  let plan: Pods = { create: [], delete: count.active };
  const events: JobEvent[] = [];
  let startTime = text(old, 'startTime');
  if (startTime === '' && !isSuspended(job)) startTime = timestamp(now);
  if (end === undefined) {
    plan = isDying(job) ? { create: [], delete: [] } : planPods(job, count, pods, backoff, now);
    const active = count.active.length - plan.delete.length + plan.create.length;
    const completions = number(spec, 'completions');
    const isDone = completions === undefined ? count.succeeded > 0 : count.succeeded >= completions;
    if (isDone && active === 0) {
      end = {
        type: 'SuccessCriteriaMet',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      };
    } else if (!isDying(job)) {
      const suspended = isSuspended(job);
      const before = conditions;
      conditions = withCondition(
        conditions,
        suspended
          ? { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }
          : { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' },
        now,
      );
      if (JSON.stringify(before) !== JSON.stringify(conditions)) {
        events.push({
          type: 'Normal',
          reason: suspended ? 'Suspended' : 'Resumed',
          message: suspended ? 'Job suspended' : 'Job resumed',
        });
        startTime = suspended ? '' : timestamp(now);
      }
    }
  }
  const active = count.active.length - plan.delete.length + plan.create.length;
  const terminating = count.terminating + plan.delete.length;
  const kept = count.active.filter((pod) => !plan.delete.includes(pod));
  const status: Plain = {
    startTime: startTime === '' ? null : startTime,
    active,
    ready: kept.filter(isReady).length,
    terminating,
    succeeded: count.counted.succeeded,
    failed: count.counted.failed,
    uncountedTerminatedPods: uncountedOf(count),
    ...(isIndexed(job) ? { completedIndexes: formatIndexes(count.succeededIndexes) } : {}),
    ...(count.failedIndexes === undefined ? {} : { failedIndexes: formatIndexes(count.failedIndexes) }),
  };
  if (end !== undefined) {
    conditions = withCondition(conditions, { ...end, status: 'True' }, now);
    const isSettled = count.uncounted.succeeded.length + count.uncounted.failed.length === 0;
    // The end is told once nothing of the job is left that could still change its numbers.
    if (isSettled && terminating === 0) {
      const type = end.type === 'SuccessCriteriaMet' ? 'Complete' : 'Failed';
      conditions = withCondition(conditions, { ...end, type, status: 'True' }, now);
      if (type === 'Complete') status.completionTime = timestamp(now);
      events.push(
        type === 'Complete'
          ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
          : { type: 'Warning', reason: end.reason, message: end.message },
      );
    }
  }
  status.conditions = conditions;
  const deadline = end === undefined ? deadlineOf({ ...job, status: { ...old, startTime } }) : undefined;
  const times = [plan.lookAgainAt, deadline].filter((time) => time !== undefined);
  return {
    create: plan.create,
    delete: plan.delete,
    status,
    release: releasable(job, count, pods, end !== undefined),
    events,
    lookAgainAt: times.length === 0 ? undefined : Math.min(...times),
  };
}

const uncountedOf = ({ uncounted: { succeeded, failed } }: JobCount): Plain => ({
  succeeded: succeeded.length === 0 ? null : succeeded,
  failed: failed.length === 0 ? null : failed,
});

/** Pods whose end is written down, but for the last of an index that has to be tried again. */
function releasable(job: ApiObject, count: JobCount, pods: readonly ApiObject[], hasEnd: boolean): ApiObject[] {
  const delayed = new Set(count.lastFailed.values());
  return pods.filter((pod) => {
    if (!isTracked(pod)) return false;
    if (isDying(job) || phaseOf(pod) === 'Succeeded') return true;
    if (hasEnd) return phaseOf(pod) === 'Failed' || isDying(pod);
    return hasFailed(job, pod) && !delayed.has(pod);
  });
}
