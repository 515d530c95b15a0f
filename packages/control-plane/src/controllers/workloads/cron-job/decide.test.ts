import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { decide, surplusJobs } from './decide.ts';

const at = (minute: number): Date => new Date(Date.UTC(2024, 0, 1, 0, minute));

const cronJob = (spec: object = {}): ApiObject => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'tick', creationTimestamp: '2024-01-01T00:00:00Z' },
  spec: { schedule: '*/10 * * * *', ...spec },
});

describe('a run', () => {
  const running = { active: [{ name: 'tick-1', uid: 'u' }] };
  const lookAgainAt = at(20);

  test.each<[string, object, object, Date, object]>([
    ['starts at its time', {}, {}, at(10), { action: { run: at(10), replaces: false }, events: [], lookAgainAt }],
    ['does not start before its time', {}, {}, at(9), { action: 'write', events: [], lookAgainAt: at(10) }],
    [
      'does not start twice',
      {},
      { lastScheduleTime: '2024-01-01T00:10:00Z' },
      at(10),
      { action: 'write', events: [], lookAgainAt },
    ],
    ['does not start while suspended', { suspend: true }, {}, at(10), { action: 'write', events: [] }],
    [
      'replaces the running job',
      { concurrencyPolicy: 'Replace' },
      running,
      at(10),
      { action: { run: at(10), replaces: true }, events: [], lookAgainAt },
    ],
    [
      'does not start next to another one with Forbid',
      { concurrencyPolicy: 'Forbid' },
      running,
      at(10),
      { action: 'none', events: [expect.objectContaining({ reason: 'JobAlreadyActive' })], lookAgainAt },
    ],
    [
      'of an unknown time zone does not start',
      { timeZone: 'Mars/Base' },
      {},
      at(10),
      { action: 'write', events: [expect.objectContaining({ reason: 'UnknownTimeZone' })] },
    ],
    [
      'of a bad schedule does not start, and the status stays',
      { schedule: 'x' },
      {},
      at(10),
      { action: 'none', events: [expect.objectContaining({ reason: 'UnparseableSchedule' })] },
    ],
    [
      'after more than a hundred missed times is reported',
      { schedule: '* * * * *' },
      {},
      at(150),
      {
        action: { run: at(150), replaces: false },
        events: [expect.objectContaining({ reason: 'TooManyMissedTimes' })],
        lookAgainAt: at(151),
      },
    ],
  ])('%s', (_title, spec, status, now, expected) => {
    expect(decide({ ...cronJob(spec), status }, { ...status }, now)).toEqual(expected);
  });
});

test('the oldest ended jobs beyond each limit are surplus, and jobs in deletion are not counted', () => {
  const job = (name: string, type: string, minute: number, metadata: object = {}): ApiObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, ...metadata },
    status: { startTime: at(minute).toISOString(), conditions: [{ type, status: 'True' }] },
  });
  const jobs = [
    job('good-2', 'Complete', 2),
    job('good-1', 'Complete', 1),
    job('bad-1', 'Failed', 1),
    job('bad-gone', 'Failed', 0, { deletionTimestamp: '2024-01-01T00:00:00Z' }),
    job('runs', 'Suspended', 0),
  ];
  const surplus = (spec: object) => surplusJobs(cronJob(spec), jobs).map(({ metadata }) => metadata.name);
  expect(surplus({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 })).toEqual(['good-1']);
  expect(surplus({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 })).toEqual(['good-1', 'good-2', 'bad-1']);
  expect(surplus({})).toEqual([]);
});
