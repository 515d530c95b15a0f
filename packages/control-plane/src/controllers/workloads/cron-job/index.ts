import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { isTimeZone, nextTime, parseSchedule, type Schedule, ScheduleError } from '../../../kinds/workloads/cron.ts';
import { ApiError, allowing, hasCode } from '../../runtime/api.ts';
import type { Controller, ControllerContext } from '../../runtime/controller.ts';
import { keyOf } from '../../runtime/informer.ts';
import { conditionOf, controllerOf, isDying, namespaceOf, ownerReference, timestamp } from '../../runtime/objects.ts';
import { CRON_JOBS, JOBS } from '../../runtime/resources.ts';
import { isTerminating } from '../pods.ts';

const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp';
/** Missed runs that are looked through one by one. */
const MANY_RUNS = 100;

/** How a job has ended; undefined: it has not. */
const endOf = (job: ApiObject): 'Complete' | 'Failed' | undefined =>
  (['Complete', 'Failed'] as const).find((type) => conditionOf(job, type)?.status === 'True');

const startedAt = (job: ApiObject): number =>
  new Date(text(look(job, 'status'), 'startTime') || (job.metadata.creationTimestamp ?? 0)).getTime();

/** The latest run that is due and was not started, and when the next one is. */
function dueRun(
  cronJob: ApiObject,
  schedule: Schedule,
  now: Date,
): { due: Date | undefined; next: Date | undefined; missed: number } {
  const spec = look(cronJob, 'spec');
  const zone = text(spec, 'timeZone') || 'UTC';
  const last = text(look(cronJob, 'status'), 'lastScheduleTime') || (cronJob.metadata.creationTimestamp ?? '');
  let from = new Date(last).getTime();
  const deadline = number(spec, 'startingDeadlineSeconds');
  if (deadline !== undefined) from = Math.max(from, now.getTime() - deadline * 1000);
  let due: Date | undefined;
  let missed = 0;
  let next = nextTime(schedule, new Date(from), zone);
  while (next !== undefined && next <= now) {
    due = next;
    missed++;
    if (missed > MANY_RUNS) {
      // So many runs were missed that only the latest matters: a day back will do to find it.
      const near = nextTime(schedule, new Date(now.getTime() - 86_400_000), zone);
      if (near !== undefined && near <= now && near > due) next = near;
    }
    next = nextTime(schedule, next, zone);
  }
  return { due, next, missed };
}

/** A time of RFC 3339 as the clocks of a zone show it. */
export function zonedTimestamp(at: Date, zone: string): string {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone === '' ? 'UTC' : zone,
    timeZoneName: 'longOffset',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  // Go writes an offset of nothing as `Z`.
  const offset = (part.timeZoneName ?? '').replace(/^GMT(?:[+-]00:00)?/, '') || 'Z';
  return `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}${offset}`;
}

/** The job of one run: its name tells the minute for which it is meant. */
function jobOf(cronJob: ApiObject, at: Date): Plain {
  const template = look(cronJob, 'spec', 'jobTemplate');
  const { labels, annotations } = look(template, 'metadata');
  const zone = text(look(cronJob, 'spec'), 'timeZone');
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `${cronJob.metadata.name}-${Math.floor(at.getTime() / 60_000)}`,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...(annotations as object | undefined), [SCHEDULED_AT]: zonedTimestamp(at, zone) },
      ownerReferences: [ownerReference(cronJob)],
    },
    spec: template.spec,
  };
}

const referenceTo = ({ metadata }: ApiObject): Plain => ({
  kind: 'Job',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: metadata.resourceVersion,
});

function setup({ api, clock, informer, queue, recorder }: ControllerContext): void {
  const cronJobs = informer(CRON_JOBS);
  const jobs = informer(JOBS);
  const tell = recorder('cronjob-controller');
  const jobsOf = jobs.index((job) => {
    const owner = controllerOf(job);
    return owner === undefined ? [] : [owner.uid];
  });

  /** Deletes the job, reports the result as an event, and returns whether the job was deleted. */
  const remove = async (cronJob: ApiObject, job: ApiObject): Promise<boolean> => {
    const { namespace, name, uid = '' } = job.metadata;
    try {
      await api.delete(JOBS, { namespace, name }, { propagationPolicy: 'Background', preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      tell(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${error.message}`);
      return false;
    }
    tell(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    return true;
  };

  /** Ended jobs beyond those that are kept, the oldest first. */
  const cleanUp = async (cronJob: ApiObject, own: readonly ApiObject[]): Promise<void> => {
    const spec = look(cronJob, 'spec');
    const limits = { Complete: spec.successfulJobsHistoryLimit, Failed: spec.failedJobsHistoryLimit };
    for (const [end, limit] of Object.entries(limits)) {
      if (typeof limit !== 'number') continue;
      const ended = own
        .filter((job) => endOf(job) === end && !isDying(job))
        .sort((a, b) => startedAt(a) - startedAt(b));
      for (const job of ended.slice(0, Math.max(0, ended.length - limit))) await remove(cronJob, job);
    }
  };

  /** A job that is no run of this cron job's, as far as its status knows; the cache may have an older one. */
  const tellUnexpected = async (cronJob: ApiObject, { metadata: { uid, name } }: ApiObject): Promise<void> => {
    const { namespace, name: owner } = cronJob.metadata;
    const current = await allowing(api.get(CRON_JOBS, { namespace, name: owner }), 404);
    if (current === undefined || items(look(current, 'status'), 'active').some((one) => one.uid === uid)) return;
    tell(cronJob, 'Warning', 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`);
  };

  /** The jobs that run, and the last time that one ended well. */
  const follow = async (cronJob: ApiObject, own: readonly ApiObject[]): Promise<Plain> => {
    const status = look(cronJob, 'status');
    const active: Plain[] = [];
    let lastSuccess = text(status, 'lastSuccessfulTime');
    const known = new Map(items(status, 'active').map((one) => [text(one, 'uid'), one]));
    for (const job of own) {
      const { uid = '', name } = job.metadata;
      const end = endOf(job);
      const before = known.get(uid);
      known.delete(uid);
      if (end === undefined && before === undefined) await tellUnexpected(cronJob, job);
      else if (end === undefined) active.push(before ?? referenceTo(job));
      else if (before !== undefined) {
        tell(cronJob, 'Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${end}`);
      }
      const completed = text(look(job, 'status'), 'completionTime');
      if (end === 'Complete' && completed > lastSuccess) lastSuccess = completed;
    }
    for (const one of known.values()) {
      // Its own may have been made a moment ago, and not be in the cache yet.
      const place = { namespace: namespaceOf(cronJob), name: text(one, 'name') };
      if ((await allowing(api.get(JOBS, place), 404)) !== undefined) active.push(one);
      else tell(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${text(one, 'name')}`);
    }
    return { ...status, active, ...(lastSuccess === '' ? {} : { lastSuccessfulTime: lastSuccess }) };
  };

  const write = async (cronJob: ApiObject, status: Plain): Promise<boolean> => {
    const old = look(cronJob, 'status');
    const active = items(status, 'active');
    const same =
      jsonEquals(items(old, 'active'), active) &&
      ['lastScheduleTime', 'lastSuccessfulTime'].every((field) => old[field] === status[field]);
    if (same) return true;
    const { namespace, name, resourceVersion } = cronJob.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { ...status, active: active.length === 0 ? null : active },
    };
    const place = { namespace, name, subresource: 'status' };
    return (await allowing(api.patch(CRON_JOBS, place, patch), 404, 409)) !== undefined;
  };

  /** The job of this run already exists. Either the cron job created it and could not store that, or it belongs to another owner. */
  const recall = async (cronJob: ApiObject, status: Plain, due: Date): Promise<void> => {
    const { name } = look(jobOf(cronJob, due), 'metadata');
    const job = await allowing(api.get(JOBS, { namespace: namespaceOf(cronJob), name: String(name) }), 404);
    if (job === undefined || controllerOf(job)?.uid !== cronJob.metadata.uid)
      return void (await write(cronJob, status));
    const running = endOf(job) === undefined ? [referenceTo(job)] : [];
    const active = [...items(status, 'active'), ...running];
    await write(cronJob, { ...status, active, lastScheduleTime: timestamp(due) });
  };

  /** Deletes the jobs that still run. @throws Error when one of them cannot be: the next one has to wait */
  const stop = async (cronJob: ApiObject, active: readonly Plain[]): Promise<void> => {
    const namespace = namespaceOf(cronJob);
    for (const one of active) {
      const name = text(one, 'name');
      const job = await api.get(JOBS, { namespace, name }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        tell(cronJob, 'Warning', 'FailedGet', `Get job: ${why}`);
        throw error;
      });
      if (!(await remove(cronJob, job))) throw new Error(`could not replace job ${namespace}/${name}`);
    }
  };

  const run = async (cronJob: ApiObject, status: Plain, due: Date): Promise<void> => {
    const policy = text(look(cronJob, 'spec'), 'concurrencyPolicy');
    let active = items(status, 'active');
    if (policy === 'Forbid' && active.length > 0) {
      const why = 'Not starting job because prior execution is running and concurrency policy is Forbid';
      tell(cronJob, 'Normal', 'JobAlreadyActive', why);
      return;
    }
    if (policy === 'Replace') {
      await stop(cronJob, active);
      active = [];
    }
    const job = jobOf(cronJob, due);
    let made: ApiObject;
    try {
      made = await api.create(JOBS, job, { namespace: namespaceOf(cronJob) });
      tell(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${made.metadata.name}`);
    } catch (error) {
      if (isTerminating(error)) return;
      if (hasCode(error, 409)) return recall(cronJob, status, due);
      const why = error instanceof Error ? error.message : String(error);
      tell(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${why}`);
      throw error;
    }
    await write(cronJob, { ...status, active: [...active, referenceTo(made)], lastScheduleTime: timestamp(due) });
  };

  const work = queue(async (key) => {
    const cronJob = cronJobs.get(key);
    if (cronJob === undefined || isDying(cronJob)) return;
    const own = jobsOf(cronJob.metadata.uid ?? '');
    await cleanUp(cronJob, own);
    const status = await follow(cronJob, own);
    const spec = look(cronJob, 'spec');
    const zone = text(spec, 'timeZone');
    if (zone !== '' && !isTimeZone(zone)) {
      tell(
        cronJob,
        'Warning',
        'UnknownTimeZone',
        `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`,
      );
      return void (await write(cronJob, status));
    }
    if (spec.suspend === true) return void (await write(cronJob, status));
    let schedule: Schedule;
    try {
      schedule = parseSchedule(text(spec, 'schedule'));
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      tell(
        cronJob,
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: ${JSON.stringify(text(spec, 'schedule'))} : ${error.message}`,
      );
      return;
    }
    const { due, next, missed } = dueRun(cronJob, schedule, clock.now());
    if (next !== undefined) work.addAt(key, next);
    else if (due === undefined) {
      const why = 'time difference between two schedules is less than 1 second';
      tell(cronJob, 'Warning', 'InvalidSchedule', `invalid schedule: ${text(spec, 'schedule')} : ${why}`);
    }
    if (due === undefined || isStarted(cronJob, status, due)) return void (await write(cronJob, status));
    if (missed > MANY_RUNS) {
      const cure = 'Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      tell(cronJob, 'Warning', 'TooManyMissedTimes', `too many missed start times. ${cure}`);
    }
    // Its own changes are written together with the run.
    await run(cronJob, status, due);
  });

  cronJobs.onChange(({ type, object }) => {
    if (type !== 'deleted') work.add(keyOf(object));
  });
  jobs.onChange(({ object, old }) => {
    for (const job of old === undefined ? [object] : [object, old]) {
      const owner = controllerOf(job);
      if (owner?.kind === 'CronJob') work.add(`${namespaceOf(job)}/${owner.name}`);
    }
  });
}

/** Whether the status already contains the job of this run. */
const isStarted = (cronJob: ApiObject, status: Plain, due: Date): boolean =>
  items(status, 'active').some(({ name }) => name === look(jobOf(cronJob, due), 'metadata').name) ||
  text(status, 'lastScheduleTime') === timestamp(due);

/**
 * Starts the Jobs of CronJobs when they are due.
 * @see kubernetes pkg/controller/cronjob
 */
export const cronJobController: Controller = { name: 'cronjob', setup };
