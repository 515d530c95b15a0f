import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { TestPlane } from '../../testing.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';

const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const PODS = '/api/v1/namespaces/default/pods';
const TRACKING = 'batch.kubernetes.io/job-tracking';

const start = async (plane: TestPlane, spec: Record<string, unknown>): Promise<void> => {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  await plane.must('POST', JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j' },
    spec: { template, ...spec },
  });
};

type JobStatus = Record<string, unknown> & { conditions?: { type: string; reason: string; message: string }[] };
const statusOf = async (plane: TestPlane): Promise<JobStatus> =>
  (await plane.must('GET', `${JOBS}/j`)).status as JobStatus;
const running = async (plane: TestPlane): Promise<ApiObject[]> =>
  (await plane.list(PODS)).filter((pod) => (pod.status as { phase: string }).phase === 'Pending');
const indexOf = (pod: ApiObject): string => pod.metadata.labels?.['batch.kubernetes.io/job-completion-index'] ?? '';

const end = async (plane: TestPlane, pod: ApiObject | undefined, phase: string, exitCode = 1): Promise<void> => {
  const finishedAt = plane.clock.now().toISOString();
  const containerStatuses = [
    {
      name: 'c',
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, finishedAt } },
    },
  ];
  await plane.patch(`${PODS}/${pod?.metadata.name}/status`, { status: { phase, containerStatuses } });
};

test('indexes are written as ranges, except two consecutive ones', () => {
  expect(formatIndexes(new Set([5, 1, 3, 4, 9, 10]))).toBe('1,3-5,9,10');
  expect([...parseIndexes('1,3-5,x,9,10', 10)]).toEqual([1, 3, 4, 5, 9]);
});

test('a pod that is deleted after its success counts, because it remains until the status contains it', async () => {
  await using plane = await TestPlane.start('job', 'garbage-collector');
  await start(plane, { completions: 2, parallelism: 1 });
  const [pod] = await running(plane);
  expect(pod?.metadata.finalizers).toEqual([TRACKING]);
  await end(plane, pod, 'Succeeded', 0);
  await plane.must('DELETE', `${PODS}/${pod?.metadata.name}`);
  expect(await statusOf(plane)).toMatchObject({ succeeded: 1, active: 1, ready: 0 });
  await end(plane, (await running(plane))[0], 'Succeeded', 0);
  expect((await statusOf(plane)).conditions?.map(({ type }) => type)).toEqual(['SuccessCriteriaMet', 'Complete']);
  await plane.must('DELETE', `${JOBS}/j`, { propagationPolicy: 'Background' });
  expect(await plane.list(PODS)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('an indexed job has one pod for each index, and replaces a failed one after a delay', async () => {
  await using plane = await TestPlane.start('job');
  await start(plane, { completions: 3, parallelism: 2, completionMode: 'Indexed' });
  const [zero, one] = await running(plane);
  expect(zero?.metadata.labels).toMatchObject({ 'batch.kubernetes.io/job-completion-index': '0' });
  expect(zero?.spec).toMatchObject({ hostname: 'j-0', containers: [{ env: [{ name: 'JOB_COMPLETION_INDEX' }] }] });
  expect(one?.spec).toMatchObject({ hostname: 'j-1' });
  await end(plane, zero, 'Failed');
  expect((await running(plane)).map(indexOf)).toEqual(['1']);
  await plane.clock.advance(10_000);
  expect((await running(plane)).map(indexOf).sort()).toEqual(['0', '1']);
  for (let round = 0; round < 3; round++) {
    for (const pod of await running(plane)) await end(plane, pod, 'Succeeded', 0);
  }
  expect(await statusOf(plane)).toMatchObject({ succeeded: 3, failed: 1, completedIndexes: '0-2' });
  expect(plane.errors).toEqual([]);
});

test('with a limit per index, a failed index does not stop the others, and the job fails at its end', async () => {
  await using plane = await TestPlane.start('job');
  await start(plane, { completions: 2, parallelism: 2, completionMode: 'Indexed', backoffLimitPerIndex: 1 });
  const failFirst = async (): Promise<void> =>
    end(
      plane,
      (await running(plane)).find((pod) => indexOf(pod) === '0'),
      'Failed',
    );
  await failFirst();
  await plane.clock.advance(10_000);
  const again = (await running(plane)).find((pod) => indexOf(pod) === '0');
  expect(again?.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count']).toBe('1');
  await failFirst();
  expect(await statusOf(plane)).toMatchObject({ failedIndexes: '0', active: 1 });
  for (const pod of await running(plane)) await end(plane, pod, 'Succeeded', 0);
  expect((await statusOf(plane)).conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    'FailureTarget FailedIndexes',
    'Failed FailedIndexes',
  ]);
  expect(plane.errors).toEqual([]);
});

test('the failure policy fails a job for one exit code and ignores another', async () => {
  await using plane = await TestPlane.start('job');
  const rules = [
    { action: 'Ignore', onExitCodes: { operator: 'In', values: [7] } },
    { action: 'FailJob', onExitCodes: { containerName: 'c', operator: 'NotIn', values: [1, 2] } },
  ];
  await start(plane, { backoffLimit: 0, podFailurePolicy: { rules } });
  await end(plane, (await running(plane))[0], 'Failed', 7);
  await plane.clock.advance(10_000);
  expect(await statusOf(plane)).toMatchObject({ active: 1 });
  const [pod] = await running(plane);
  await end(plane, pod, 'Failed', 3);
  expect((await statusOf(plane)).conditions?.[1]).toMatchObject({
    type: 'Failed',
    reason: 'PodFailurePolicy',
    message: `Container c for pod default/${pod?.metadata.name} failed with exit code 3 matching FailJob rule at index 1`,
  });
  expect(plane.errors).toEqual([]);
});

test('a suspended job has no pods and no start time, a resumed one starts again, and a finished one is deleted after its TTL', async () => {
  await using plane = await TestPlane.start('job', 'ttl-after-finished', 'garbage-collector');
  await start(plane, { suspend: true, activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 30 });
  await plane.clock.advance(120_000);
  expect(await running(plane)).toEqual([]);
  expect((await statusOf(plane)).conditions?.[0]).toMatchObject({ type: 'Suspended', reason: 'JobSuspended' });
  await plane.patch(`${JOBS}/j`, { spec: { suspend: false } });
  expect(await running(plane)).toHaveLength(1);
  await plane.clock.advance(60_000);
  expect((await statusOf(plane)).conditions?.map(({ type }) => type)).toEqual(['Suspended', 'FailureTarget', 'Failed']);
  const reasons = (await plane.list('/api/v1/namespaces/default/events')).map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['Suspended', 'Resumed', 'SuccessfulCreate', 'DeadlineExceeded']));
  await plane.clock.advance(31_000);
  expect(await plane.exists(`${JOBS}/j`)).toBe(false);
  expect(plane.errors).toEqual([]);
});
