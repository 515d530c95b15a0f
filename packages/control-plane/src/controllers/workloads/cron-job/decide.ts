import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { isTimeZone, parseSchedule, type Schedule, ScheduleError } from '../../../kinds/workloads/cron.ts';
import { isDying } from '../../objects/fields.ts';
import { dueRun, endOf, isStarted, MANY_RUNS, startedAt } from './runs.ts';

interface CronEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface CronDecision {
  /**
   * The action `write` changes only the status of the CronJob. The action `run` creates a job, and then writes the
   * status.
   */
  readonly action: 'none' | 'write' | { readonly run: Date; readonly replaces: boolean };
  readonly events: readonly CronEvent[];
  readonly lookAgainAt?: Date | undefined;
}

export function surplusJobs(cronJob: ApiObject, own: readonly ApiObject[]): ApiObject[] {
  const spec = look(cronJob, 'spec');
  const limits = { Complete: spec.successfulJobsHistoryLimit, Failed: spec.failedJobsHistoryLimit };
  return Object.entries(limits).flatMap(([end, limit]) => {
    if (typeof limit !== 'number') return [];
    const ended = own.filter((job) => endOf(job) === end && !isDying(job));
    return ended.sort((a, b) => startedAt(a) - startedAt(b)).slice(0, Math.max(0, ended.length - limit));
  });
}

export function decide(cronJob: ApiObject, status: Plain, now: Date): CronDecision {
  const spec = look(cronJob, 'spec');
  const zone = text(spec, 'timeZone');
  if (zone !== '' && !isTimeZone(zone)) {
    const message = `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`;
    return { action: 'write', events: [{ type: 'Warning', reason: 'UnknownTimeZone', message }] };
  }
  if (spec.suspend === true) return { action: 'write', events: [] };
  let schedule: Schedule;
  try {
    schedule = parseSchedule(text(spec, 'schedule'));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `unparseable schedule: ${JSON.stringify(text(spec, 'schedule'))} : ${error.message}`;
    return { action: 'none', events: [{ type: 'Warning', reason: 'UnparseableSchedule', message }] };
  }
  const { due, next, missed } = dueRun(cronJob, schedule, now);
  const events: CronEvent[] = [];
  if (next === undefined && due === undefined) {
    const why = 'time difference between two schedules is less than 1 second';
    const message = `invalid schedule: ${text(spec, 'schedule')} : ${why}`;
    events.push({ type: 'Warning', reason: 'InvalidSchedule', message });
  }
  if (due === undefined || isStarted(cronJob, status, due)) return { action: 'write', events, lookAgainAt: next };
  if (missed > MANY_RUNS) {
    const message = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
    events.push({ type: 'Warning', reason: 'TooManyMissedTimes', message });
  }
  const policy = text(spec, 'concurrencyPolicy');
  if (policy === 'Forbid' && items(status, 'active').length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    events.push({ type: 'Normal', reason: 'JobAlreadyActive', message });
    return { action: 'none', events, lookAgainAt: next };
  }
  return { action: { run: due, replaces: policy === 'Replace' }, events, lookAgainAt: next };
}
