import { duplicateValue, negativeCauses } from '../../apimachinery/errors/causes.ts';
import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { indexesProblem, sharedIndex } from './job-indexes.ts';

interface Job {
  readonly spec: Plain;
  readonly status: Plain;
}

/** Most rules check only changed fields, because an old error must not block unrelated changes. */
interface Changes {
  readonly has: (...fields: readonly string[]) => boolean;
  readonly condition: (type: string) => boolean;
  readonly finished: boolean;
}

const jobOf = (object: ApiObject): Job => ({ spec: look(object, 'spec'), status: look(object, 'status') });

const hasCondition = ({ status }: Job, wanted: string, value = 'True'): boolean =>
  items(status, 'conditions').some((one) => one.type === wanted && one.status === value);

const isFinished = (job: Job): boolean => hasCondition(job, 'Complete') || hasCondition(job, 'Failed');
const isIndexed = ({ spec }: Job): boolean => spec.completionMode === 'Indexed';

/** Returns the error for invalid conditions. */
const wrongConditions = (why: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${why}`,
  field: 'status.conditions',
});

const invalid = (field: string, value: unknown, why: string): StatusCause =>
  invalidValue(`status.${field}`, value, why);

const broken = (...rules: readonly (readonly [isBroken: boolean, cause: () => StatusCause])[]): StatusCause[] =>
  rules.filter(([isBroken]) => isBroken).map(([, cause]) => cause());

function uncountedCauses(status: Plain): StatusCause[] {
  const seen = new Set<string>();
  const causes: StatusCause[] = [];
  for (const list of ['succeeded', 'failed']) {
    for (const [index, uid] of strings(look(status, 'uncountedTerminatedPods'), list).entries()) {
      const field = `uncountedTerminatedPods.${list}[${index}]`;
      if (uid === '') causes.push(invalid(field, uid, 'must not be empty'));
      else if (seen.has(uid)) causes.push(duplicateValue(`status.${field}`, uid));
      seen.add(uid);
    }
  }
  return causes;
}

const time = (status: Plain, field: string): number => Date.parse(text(status, field));

function endCauses(job: Job, changes: Changes): StatusCause[] {
  const { status } = job;
  const { startTime, completionTime } = status;
  const complete = hasCondition(job, 'Complete');
  const failed = hasCondition(job, 'Failed');
  const endChanged = changes.condition('Complete') || changes.has('completionTime');
  return broken(
    [
      (changes.condition('Complete') || changes.condition('Failed')) && complete && failed,
      () => wrongConditions('cannot set Complete=True and Failed=true conditions'),
    ],
    [
      (changes.condition('Complete') || changes.condition('FailureTarget')) &&
        complete &&
        hasCondition(job, 'FailureTarget'),
      () => wrongConditions('cannot set Complete=True and FailureTarget=true conditions'),
    ],
    [
      endChanged && completionTime !== undefined && !complete,
      () =>
        invalid('completionTime', completionTime, 'cannot set completionTime when there is no Complete=True condition'),
    ],
    [
      endChanged && completionTime === undefined && complete,
      () => requiredValue('status.completionTime', 'completionTime is required for Complete jobs'),
    ],
    [
      changes.has('startTime', 'completionTime') && time(status, 'completionTime') < time(status, 'startTime'),
      () => invalid('completionTime', completionTime, 'must be equal to or after `startTime`'),
    ],
    [
      (changes.condition('Failed') || changes.has('failedIndexes')) && failed && !hasCondition(job, 'FailureTarget'),
      () => wrongConditions('cannot set Failed=True condition without the FailureTarget=true condition'),
    ],
    [
      (changes.condition('Complete') || changes.condition('SuccessCriteriaMet')) &&
        complete &&
        !hasCondition(job, 'SuccessCriteriaMet'),
      () => wrongConditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
    ],
    [
      (changes.finished || changes.has('startTime')) &&
        !(job.spec.suspend === true && job.spec.completions === 0) &&
        startTime === undefined &&
        isFinished(job),
      () => requiredValue('status.startTime', 'startTime is required for finished job'),
    ],
  );
}

/** Returns an error for each field that only a running Job may have, in the order of the fields. */
function leftoverCauses(
  job: Job,
  changes: Changes,
): { active: StatusCause[]; uncounted: StatusCause[]; terminating: StatusCause[] } {
  const { status } = job;
  const finished = isFinished(job);
  const active = number(status, 'active') ?? 0;
  const terminating = number(status, 'terminating') ?? 0;
  const pods = look(status, 'uncountedTerminatedPods');
  const form = { Succeeded: pods.succeeded ?? null, Failed: pods.failed ?? null };
  return {
    active: broken([
      (changes.finished || changes.has('active')) && active > 0 && finished,
      () => invalid('active', active, 'active>0 is invalid for finished job'),
    ]),
    uncounted: broken([
      (changes.finished || changes.has('uncountedTerminatedPods')) &&
        finished &&
        strings(pods, 'succeeded').length + strings(pods, 'failed').length > 0,
      () => invalid('uncountedTerminatedPods', form, 'must be empty for finished job'),
    ]),
    terminating: broken([
      (changes.finished || changes.has('terminating')) && terminating > 0 && finished,
      () => invalid('terminating', terminating, 'terminating>0 is invalid for finished job'),
    ]),
  };
}

function indexCauses(job: Job, changes: Changes): StatusCause[] {
  const { spec, status } = job;
  const completions = number(spec, 'completions');
  const perIndex = spec.backoffLimitPerIndex !== undefined;
  const completed = text(status, 'completedIndexes');
  const failed = typeof status.failedIndexes === 'string' ? status.failedIndexes : undefined;
  const completedChanged = changes.has('completedIndexes');
  const failedChanged = changes.has('failedIndexes');
  const causes: StatusCause[] = [];
  const assess = (field: string, list: string, most: number): void => {
    const problem = indexesProblem(list, most);
    if (problem !== undefined) causes.push(invalid(field, list, `error parsing ${field}: ${problem}`));
  };
  if (completedChanged && completions !== undefined) assess('completedIndexes', completed, completions);
  if (failedChanged && completions !== undefined && perIndex && failed !== undefined) {
    assess('failedIndexes', failed, completions);
  }
  if (completedChanged && completed !== '' && !isIndexed(job)) {
    const why = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    causes.push(invalid('completedIndexes', completed, why));
  }
  if (failed === undefined) return causes;
  if (failedChanged && !perIndex) {
    causes.push(
      invalid('failedIndexes', failed, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null'),
    );
  }
  if ((failedChanged || completedChanged) && completions !== undefined) {
    const shared = sharedIndex(completed, failed, completions);
    const why = `failedIndexes and completedIndexes overlap at index: ${shared}`;
    if (shared !== undefined) causes.push(invalid('failedIndexes', failed, why));
  }
  return causes;
}

function successCauses(job: Job): StatusCause[] {
  const met = hasCondition(job, 'SuccessCriteriaMet');
  return broken(
    [
      met && hasCondition(job, 'Failed'),
      () => wrongConditions('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
    ],
    [
      met && hasCondition(job, 'FailureTarget'),
      () => wrongConditions('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
    ],
    [
      job.spec.successPolicy !== undefined && !met && hasCondition(job, 'Complete'),
      () => wrongConditions('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True'),
    ],
  );
}

function transitionCauses(job: Job, old: Job, changes: Changes): StatusCause[] {
  const { spec, status } = job;
  const count = (one: Job, field: string): number => number(one.status, field) ?? 0;
  const fewer = (field: string): boolean => count(job, field) < count(old, field);
  const lost = (type: string): boolean => hasCondition(old, type) && !hasCondition(job, type);
  const mayCountFewer = isIndexed(job) && spec.completions === spec.parallelism;
  const isResumed = hasCondition(old, 'Suspended') && hasCondition(job, 'Suspended', 'False');
  return broken(
    ...['Failed', 'Complete', 'FailureTarget'].map(
      (type) => [lost(type), () => wrongConditions(`cannot disable the terminal ${type}=True condition`)] as const,
    ),
    [fewer('failed'), () => invalid('failed', count(job, 'failed'), 'cannot decrease the failed counter')],
    [
      fewer('succeeded') && !mayCountFewer,
      () => invalid('succeeded', count(job, 'succeeded'), 'cannot decrease the succeeded counter'),
    ],
    [
      status.completionTime !== undefined &&
        old.status.completionTime !== undefined &&
        status.completionTime !== old.status.completionTime,
      () => invalid('completionTime', status.completionTime, 'field is immutable'),
    ],
    [
      changes.has('startTime') && old.status.startTime !== undefined && spec.suspend !== true && !isResumed,
      () => invalid('startTime', status.startTime, 'field is immutable for unsuspended job once set'),
    ],
    [lost('SuccessCriteriaMet'), () => wrongConditions('cannot disable the SuccessCriteriaMet=True condition')],
    [
      hasCondition(old, 'Complete') &&
        !hasCondition(old, 'SuccessCriteriaMet') &&
        hasCondition(job, 'SuccessCriteriaMet'),
      () => wrongConditions('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'),
    ],
  );
}

/** Validates an update of the job status, as `ValidateJobStatusUpdate` in kube-apiserver 1.36. */
export function jobStatusCauses(object: ApiObject, before: ApiObject): StatusCause[] {
  const job = jobOf(object);
  const old = jobOf(before);
  const { status } = job;
  const changes: Changes = {
    has: (...fields) => fields.some((field) => !jsonEquals(status[field], old.status[field])),
    condition: (type) => hasCondition(job, type) !== hasCondition(old, type),
    finished: isFinished(job) !== isFinished(old),
  };
  const counts = ['active', 'succeeded', 'failed', 'ready', 'terminating'];
  const leftover = leftoverCauses(job, changes);
  const ready = number(status, 'ready') ?? 0;
  const ends = endCauses(job, changes);
  const start = ends.filter(({ field }) => field === 'status.startTime');
  return [
    ...counts.flatMap((field) => negativeCauses(`status.${field}`, status[field])),
    ...uncountedCauses(status),
    ...ends.filter((cause) => !start.includes(cause)),
    ...leftover.active,
    ...start,
    ...leftover.uncounted,
    ...indexCauses(job, changes),
    ...leftover.terminating,
    ...broken([
      changes.has('ready', 'active') && ready > (number(status, 'active') ?? 0) && status.ready !== undefined,
      () => invalid('ready', ready, 'cannot set more ready pods than active'),
    ]),
    ...successCauses(job),
    ...transitionCauses(job, old, changes),
  ];
}
