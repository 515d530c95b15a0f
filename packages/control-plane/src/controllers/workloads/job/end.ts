import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { hasFailed, isIndexed, type JobCount, restartsOf } from './count.ts';
import { assessFailure, assessSuccess } from './policy.ts';

export interface End {
  readonly type: 'SuccessCriteriaMet' | 'FailureTarget';
  readonly reason: string;
  readonly message: string;
}

const conditionOf = (job: ApiObject, type: string): Plain | undefined =>
  items(look(job, 'status'), 'conditions').find((one) => one.type === type && one.status === 'True');

export const isFinished = (job: ApiObject): boolean =>
  conditionOf(job, 'Complete') !== undefined || conditionOf(job, 'Failed') !== undefined;

export const isSuspended = (job: ApiObject): boolean => look(job, 'spec').suspend === true;

export function deadlineOf(job: ApiObject): number | undefined {
  const seconds = number(look(job, 'spec'), 'activeDeadlineSeconds');
  const started = text(look(job, 'status'), 'startTime');
  if (seconds === undefined || started === '' || isSuspended(job)) return undefined;
  return new Date(started).getTime() + seconds * 1000;
}

const failure = (reason: string, message: string): End => ({ type: 'FailureTarget', reason, message });

const REACHED: End = {
  type: 'SuccessCriteriaMet',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/**
 * Returns the result of a Job that has enough completions and no running pods. Without `completions`, one succeeded pod
 * is enough.
 */
export function completionOf(job: ApiObject, count: JobCount, active: number): End | undefined {
  const completions = number(look(job, 'spec'), 'completions');
  const isDone = completions === undefined ? count.succeeded > 0 : count.succeeded >= completions;
  return isDone && active === 0 ? REACHED : undefined;
}

/**
 * Returns the result of an indexed job. After all indexes are finished, the job fails if at least one index has failed.
 */
function endByIndexes(job: ApiObject, { failedIndexes, succeededIndexes }: JobCount): End | undefined {
  if (failedIndexes === undefined) return undefined;
  const spec = look(job, 'spec');
  const most = number(spec, 'maxFailedIndexes');
  if (most !== undefined && failedIndexes.size > most) {
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  }
  const isDone = failedIndexes.size + succeededIndexes.size >= (number(spec, 'completions') ?? 0);
  return isDone && failedIndexes.size > 0 ? failure('FailedIndexes', 'Job has failed indexes') : undefined;
}

/** Returns the result of a Job. */
export function endOf(job: ApiObject, count: JobCount, pods: readonly ApiObject[], now: Date): End | undefined {
  for (const type of ['SuccessCriteriaMet', 'FailureTarget'] as const) {
    const said = conditionOf(job, type);
    if (said !== undefined) return { type, reason: text(said, 'reason'), message: text(said, 'message') };
  }
  for (const pod of pods.filter((one) => hasFailed(job, one))) {
    const { message } = assessFailure(job, pod);
    if (message !== undefined) return failure('PodFailurePolicy', message);
  }
  const spec = look(job, 'spec');
  const limit = number(spec, 'backoffLimit') ?? 6;
  const restarts = look(spec, 'template', 'spec').restartPolicy === 'OnFailure' ? restartsOf(pods) : 0;
  if (count.failed > limit || (restarts > 0 && restarts >= limit)) {
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  }
  const deadline = deadlineOf(job);
  if (deadline !== undefined && now.getTime() >= deadline) {
    return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  }
  if (!isIndexed(job)) return undefined;
  const end = endByIndexes(job, count);
  if (end !== undefined) return end;
  const message = assessSuccess(job, count.succeededIndexes);
  return message === undefined ? undefined : { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message };
}
