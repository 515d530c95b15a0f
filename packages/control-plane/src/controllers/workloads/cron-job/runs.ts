import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { formatTime } from '../../../apimachinery/objects/object-text.ts';
import { defined, items, look, number, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { nextTime, type Schedule } from '../../../kinds/workloads/cron.ts';
import { conditionOf, ownerReference } from '../../objects/fields.ts';

const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp';
export const MANY_RUNS = 100;

export const endOf = (job: ApiObject): 'Complete' | 'Failed' | undefined =>
  (['Complete', 'Failed'] as const).find((type) => conditionOf(job, type)?.status === 'True');

export const startedAt = (job: ApiObject): number =>
  new Date(text(look(job, 'status'), 'startTime') || (job.metadata.creationTimestamp ?? 0)).getTime();

/** Returns the latest due run that the controller has not started, and the time of the next run. */
export function dueRun(
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
      const near = nextTime(schedule, new Date(now.getTime() - 86_400_000), zone);
      if (near !== undefined && near <= now && near > due) next = near;
    }
    next = nextTime(schedule, next, zone);
  }
  return { due, next, missed };
}

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
  // Go formats a time zone offset of zero as `Z`.
  const offset = (part.timeZoneName ?? '').replace(/^GMT(?:[+-]00:00)?/, '') || 'Z';
  return `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}${offset}`;
}

/** Returns the job for a run of a CronJob. */
export function jobOf(cronJob: ApiObject, at: Date): Plain {
  const template = look(cronJob, 'spec', 'jobTemplate');
  const { labels, annotations } = look(template, 'metadata');
  const zone = text(look(cronJob, 'spec'), 'timeZone');
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: defined({
      name: `${cronJob.metadata.name}-${Math.floor(at.getTime() / 60_000)}`,
      labels,
      annotations: { ...(annotations as object | undefined), [SCHEDULED_AT]: zonedTimestamp(at, zone) },
      ownerReferences: [ownerReference(cronJob)],
    }),
    spec: template.spec,
  };
}

export const referenceTo = ({ metadata }: ApiObject): Plain => ({
  kind: 'Job',
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: metadata.resourceVersion,
});

export const isStarted = (cronJob: ApiObject, status: Plain, due: Date): boolean =>
  items(status, 'active').some(({ name }) => name === look(jobOf(cronJob, due), 'metadata').name) ||
  text(status, 'lastScheduleTime') === formatTime(due);
