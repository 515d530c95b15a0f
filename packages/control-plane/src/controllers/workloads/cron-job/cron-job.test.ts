import { expect, test } from 'vitest';
import { nextTime, parseSchedule } from '../../../kinds/workloads/cron.ts';
import { TestPlane } from '../../testing.ts';
import { zonedTimestamp } from './runs.ts';

const BATCH = '/apis/batch/v1/namespaces/default';

test.each([
  ['*/15 * * * *', '2024-01-01T00:07:00Z', 'UTC', '2024-01-01T00:15:00.000Z'],
  ['0 9 * * mon-fri', '2024-01-05T09:00:00Z', 'UTC', '2024-01-08T09:00:00.000Z'],
  ['0 0 13 * 5', '2024-01-01T00:00:00Z', 'UTC', '2024-01-05T00:00:00.000Z'],
  ['30 4 1,15 * *', '2024-01-01T05:00:00Z', 'UTC', '2024-01-15T04:30:00.000Z'],
  ['0 12 * * *', '2024-07-01T00:00:00Z', 'Europe/Berlin', '2024-07-01T10:00:00.000Z'],
  ['30 2 * * *', '2024-03-30T12:00:00Z', 'Europe/Berlin', '2024-04-01T00:30:00.000Z'],
  ['@every 90m', '2024-01-01T00:00:00Z', 'UTC', '2024-01-01T01:30:00.000Z'],
  ['0 0 29 2 *', '2024-03-01T00:00:00Z', 'UTC', '2028-02-29T00:00:00.000Z'],
])('%s after %s in %s is due at %s', (schedule, after, zone, due) => {
  expect(nextTime(parseSchedule(schedule), new Date(after), zone)?.toISOString()).toBe(due);
});

test.each([
  ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-2 * * * *', 'beginning of range (5) beyond end of range (2): 5-2'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['@never', 'unrecognized descriptor: @never'],
])('%s is refused: %s', (schedule, message) => {
  expect(() => parseSchedule(schedule)).toThrow(message);
});

const start = (plane: TestPlane, spec: Record<string, unknown>) => {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  return plane.must('POST', `${BATCH}/cronjobs`, {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick' },
    spec: { schedule: '*/10 * * * *', jobTemplate: { spec: { template } }, ...spec },
  });
};

const names = async (plane: TestPlane): Promise<(string | undefined)[]> =>
  (await plane.list(`${BATCH}/jobs`)).map(({ metadata }) => metadata.name);

test('a cron job starts a due job with an event; a suspended one starts none', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, {});
  expect(await names(plane)).toEqual([]);
  await plane.clock.advance(20 * 60_000);
  expect(await names(plane)).toEqual(['tick-28401130', 'tick-28401140']);
  const [job] = await plane.list(`${BATCH}/jobs`);
  expect(job?.metadata.annotations).toEqual({
    'batch.kubernetes.io/cronjob-scheduled-timestamp': '2024-01-01T00:10:00Z',
  });
  const { status } = await plane.must('GET', `${BATCH}/cronjobs/tick`);
  expect(status).toMatchObject({ lastScheduleTime: '2024-01-01T00:20:00Z', active: [{}, {}] });
  await plane.patch(`${BATCH}/cronjobs/tick`, { spec: { suspend: true } });
  await plane.clock.advance(60 * 60_000);
  expect(await names(plane)).toHaveLength(2);
  expect(plane.errors).toEqual([]);
});

test.each([
  ['Forbid', ['tick-28401130']],
  ['Replace', ['tick-28401150']],
])('with the policy %s one job runs at a time', async (concurrencyPolicy, left) => {
  await using plane = await TestPlane.start('cronjob', 'garbage-collector');
  await start(plane, { concurrencyPolicy });
  await plane.clock.advance(35 * 60_000);
  expect(await names(plane)).toEqual(left);
  expect(plane.errors).toEqual([]);
});

test('finished jobs are kept up to the limits', async () => {
  await using plane = await TestPlane.start('cronjob', 'garbage-collector');
  await start(plane, { successfulJobsHistoryLimit: 1 });
  for (let round = 0; round < 3; round++) {
    await plane.clock.advance(10 * 60_000);
    const name = (await names(plane)).at(-1);
    const at = plane.clock.now().toISOString();
    const condition = (type: string) => ({ type, status: 'True', lastProbeTime: at, lastTransitionTime: at });
    await plane.patch(`${BATCH}/jobs/${name}/status`, {
      status: {
        startTime: at,
        completionTime: at,
        succeeded: 1,
        conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
      },
    });
  }
  expect(await names(plane)).toEqual(['tick-28401150']);
  expect((await reported(plane)).filter((line) => line.startsWith('SuccessfulDelete'))).toEqual([
    'SuccessfulDelete: Deleted job tick-28401130',
    'SuccessfulDelete: Deleted job tick-28401140',
  ]);
  expect((await plane.must('GET', `${BATCH}/cronjobs/tick`)).status).toMatchObject({
    lastSuccessfulTime: '2024-01-01T00:30:00Z',
  });
  expect(plane.errors).toEqual([]);
});

const reported = async (plane: TestPlane): Promise<string[]> =>
  (await plane.list('/api/v1/namespaces/default/events')).map(({ reason, message }) => `${reason}: ${message}`);

const foreign = async (plane: TestPlane, name: string): Promise<void> => {
  const { metadata, spec } = await plane.must('GET', `${BATCH}/cronjobs/tick`);
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid: metadata.uid, controller: true };
  const { jobTemplate } = spec as { jobTemplate: { spec: object } };
  await plane.must('POST', `${BATCH}/jobs`, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, ownerReferences: [owner] },
    spec: jobTemplate.spec,
  });
};

test('UnexpectedJob: a job that the cron job did not start is reported, and does not count as active', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, { concurrencyPolicy: 'Forbid' });
  await foreign(plane, 'stranger');
  await plane.clock.advance(1000);
  expect(await reported(plane)).toEqual([
    'UnexpectedJob: Saw a job that the controller did not create or forgot: stranger',
  ]);
  await plane.clock.advance(10 * 60_000);
  expect(await names(plane)).toEqual(['stranger', 'tick-28401130']);
  expect(plane.errors).toEqual([]);
});

test('a run whose job already exists is recorded and not started again', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, {});
  await foreign(plane, 'tick-28401130');
  await plane.clock.advance(10 * 60_000);
  expect((await plane.must('GET', `${BATCH}/cronjobs/tick`)).status).toMatchObject({
    lastScheduleTime: '2024-01-01T00:10:00Z',
    active: [{ name: 'tick-28401130' }],
  });
  expect(plane.errors).toEqual([]);
});

test('MissingJob: a deleted active job is reported and removed from the status', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, {});
  await plane.clock.advance(10 * 60_000);
  await plane.must('DELETE', `${BATCH}/jobs/tick-28401130`, { propagationPolicy: 'Background' });
  await plane.clock.advance(1000);
  expect(await reported(plane)).toContain('MissingJob: Active job went missing: tick-28401130');
  expect((await plane.must('GET', `${BATCH}/cronjobs/tick`)).status).not.toHaveProperty('active');
  expect(plane.errors).toEqual([]);
});

test('TooManyMissedTimes: of more than a hundred missed runs only the last is started', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, { suspend: true });
  await plane.clock.advance(17 * 3600_000);
  await plane.patch(`${BATCH}/cronjobs/tick`, { spec: { suspend: false } });
  await plane.clock.advance(1000);
  expect(await names(plane)).toEqual(['tick-28402140']);
  expect(await reported(plane)).toContain(
    'TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
  );
  expect(plane.errors).toEqual([]);
});

test('InvalidSchedule: a schedule with an impossible day is reported', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, { schedule: '59 23 31 2 *' });
  expect(await reported(plane)).toEqual([
    'InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
  ]);
  expect(plane.errors).toEqual([]);
});

test.each([
  ['Europe/Berlin', '2024-07-01T12:30:00+02:00'],
  ['America/St_Johns', '2024-07-01T08:00:00-02:30'],
  ['Etc/UTC', '2024-07-01T10:30:00Z'],
  ['', '2024-07-01T10:30:00Z'],
])('the time of a run has the time zone %s', (zone, shown) => {
  expect(zonedTimestamp(new Date('2024-07-01T10:30:00Z'), zone)).toBe(shown);
});

test('FailedGet: a job for replacement that cannot be read is reported; the next one waits', async () => {
  await using plane = await TestPlane.start('cronjob');
  await start(plane, { concurrencyPolicy: 'Replace' });
  await plane.clock.advance(10 * 60_000);
  const { status } = await plane.must('GET', `${BATCH}/cronjobs/tick`);
  const [active] = (status as { active: object[] }).active;
  // The status identifies a job by its UID, but the controller reads the job by its name.
  await plane.patch(`${BATCH}/cronjobs/tick/status`, { status: { active: [{ ...active, name: 'ghost' }] } });
  await plane.clock.advance(10 * 60_000);
  expect(await reported(plane)).toContain('FailedGet: Get job: jobs.batch "ghost" not found');
  expect(await names(plane)).toEqual(['tick-28401130']);
  await plane.patch(`${BATCH}/cronjobs/tick/status`, { status: { active: [active] } });
  await plane.clock.advance(60_000);
  expect(await names(plane)).toEqual(['tick-28401140']);
});

test('FailedDelete: a job that cannot be deleted is reported; the next one waits until it is deleted', async () => {
  await using plane = await TestPlane.start('cronjob');
  const policies = '/apis/admissionregistration.k8s.io/v1';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: ['batch'], apiVersions: ['v1'], operations: ['DELETE'], resources: ['jobs'] };
  await plane.must('POST', `${policies}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'keep' },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false', message: 'kept' }] },
  });
  await plane.must('POST', `${policies}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'keep' },
    spec: { policyName: 'keep', validationActions: ['Deny'] },
  });
  await start(plane, { concurrencyPolicy: 'Replace' });
  await plane.clock.advance(20 * 60_000);
  expect(await names(plane)).toEqual(['tick-28401130']);
  const reported = (await plane.list('/api/v1/namespaces/default/events')).find(
    ({ reason }) => reason === 'FailedDelete',
  );
  expect(reported).toMatchObject({ type: 'Warning', message: expect.stringMatching(/^Deleted job: .*kept/) });
  expect(plane.errors[0]).toContain('could not replace job default/tick-28401130');
  await plane.must('DELETE', `${policies}/validatingadmissionpolicybindings/keep`);
  await plane.clock.advance(60_000);
  expect(await names(plane)).toEqual(['tick-28401140']);
});
