import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { TestPlane } from '../../testing.ts';

const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const PODS = '/api/v1/namespaces/default/pods';
const TRACKING = 'batch.kubernetes.io/job-tracking';

type Spec = Record<string, unknown>;
const podSpec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] };
const start = (plane: TestPlane, spec: Spec, name = 'j', labels?: Spec): Promise<ApiObject> =>
  plane.must('POST', JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { template: { metadata: { labels }, spec: podSpec }, ...spec },
  });
const statusOf = async (plane: TestPlane): Promise<Spec> => (await plane.must('GET', `${JOBS}/j`)).status as Spec;
const end = async (plane: TestPlane, pod: ApiObject | undefined, phase: string, exitCode = 1): Promise<void> => {
  const terminated = { exitCode, finishedAt: plane.clock.now().toISOString() };
  const containerStatuses = [
    { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  await plane.patch(`${PODS}/${pod?.metadata.name}/status`, { status: { phase, containerStatuses } });
};

test.each([
  ['is suspended', { suspend: true }, 0],
  ['may have fewer', { parallelism: 1 }, 1],
])('pods that are deleted because their job %s do not count as failed', async (_name, spec, left) => {
  await using plane = await TestPlane.start('job');
  await start(plane, { completions: 3, parallelism: 3 });
  await plane.patch(`${JOBS}/j`, { spec });
  expect(await plane.list(PODS)).toHaveLength(left);
  expect(await statusOf(plane)).not.toHaveProperty('failed');
  expect(plane.errors).toEqual([]);
});

test('in a failing job, every pod that did not succeed counts as failed', async () => {
  await using plane = await TestPlane.start('job');
  const rules = [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [3] } }];
  await start(plane, { completions: 3, parallelism: 3, podFailurePolicy: { rules } });
  await end(plane, (await plane.list(PODS))[0], 'Failed', 3);
  expect(await statusOf(plane)).toMatchObject({ failed: 3, conditions: [{}, { reason: 'PodFailurePolicy' }] });
  expect((await plane.list(PODS)).map(({ metadata }) => metadata.finalizers)).toEqual([undefined]);
  expect(plane.errors).toEqual([]);
});

test('in a job that succeeded early, deleted pods do not count as failed', async () => {
  await using plane = await TestPlane.start('job');
  const successPolicy = { rules: [{ succeededCount: 1 }] };
  await start(plane, { completions: 3, parallelism: 3, completionMode: 'Indexed', successPolicy });
  await end(plane, (await plane.list(PODS))[0], 'Succeeded', 0);
  const status = await statusOf(plane);
  expect(status).toMatchObject({ succeeded: 1, conditions: [{}, { type: 'Complete', reason: 'SuccessPolicy' }] });
  expect(status).not.toHaveProperty('failed');
  expect(await plane.list(PODS)).toHaveLength(1);
  expect(plane.errors).toEqual([]);
});

test('a job with refused pods reports its actual pods', async () => {
  await using plane = await TestPlane.start('job', 'resourcequota');
  const hard = { pods: '1' };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } };
  await plane.must('POST', '/api/v1/namespaces/default/resourcequotas', quota);
  await start(plane, { completions: 3, parallelism: 3 });
  expect(await statusOf(plane)).toMatchObject({ active: 1, startTime: expect.any(String) });
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ reason }) => reason);
  expect(reported).toEqual(expect.arrayContaining(['SuccessfulCreate', 'FailedCreate']));
});

test('an adopted pod is tracked, finished or not; a released one is not', async () => {
  await using plane = await TestPlane.start('job');
  const labels = { app: 'j' };
  const orphan = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'orphan', labels }, spec: podSpec };
  await plane.must('POST', PODS, orphan);
  await end(plane, orphan as ApiObject, 'Succeeded', 0);
  await start(plane, { completions: 2, manualSelector: true, selector: { matchLabels: labels } }, 'j', labels);
  expect(await statusOf(plane)).toMatchObject({ succeeded: 1, active: 1 });
  const own = (await plane.list(PODS)).find(({ metadata }) => metadata.name !== 'orphan')?.metadata.name;
  await plane.patch(`${PODS}/${own}`, { metadata: { labels: { app: 'other' } } });
  const { metadata } = await plane.must('GET', `${PODS}/${own}`);
  expect([metadata.ownerReferences, metadata.finalizers]).toEqual([undefined, undefined]);
  expect(await statusOf(plane)).toMatchObject({ succeeded: 1, active: 1 });
  expect(await plane.list(PODS)).toHaveLength(3);
  expect(plane.errors).toEqual([]);
});

test('a tracked pod without an owner loses its finalizer, and one of another owner keeps it', async () => {
  await using plane = await TestPlane.start('job');
  const make = async (name: string, kind?: string): Promise<void> => {
    const owner = { apiVersion: 'apps/v1', kind, name: 'x', uid: 'x', controller: true };
    const ownerReferences = kind === undefined ? undefined : [owner];
    const metadata = { name, finalizers: [TRACKING], ownerReferences };
    await plane.must('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: podSpec });
    await plane.must('DELETE', `${PODS}/${name}`);
  };
  await make('orphan');
  await make('other', 'ReplicaSet');
  expect((await plane.list(PODS)).map(({ metadata }) => metadata.name)).toEqual(['other']);
  expect(plane.errors).toEqual([]);
});

test('the name of a pod contains its index, also for a job with a long name', async () => {
  await using plane = await TestPlane.start('job');
  await start(plane, { completions: 1, completionMode: 'Indexed' }, 'j'.repeat(60));
  const [pod] = await plane.list(PODS);
  expect(pod?.metadata.generateName).toBe(`${'j'.repeat(55)}-0-`);
  expect(pod?.metadata.name).toMatch(/^j{55}-0-\w{5}$/);
});

test('a status that another client wrote in between is not overwritten, and no pod is released before its own write', async () => {
  await using plane = await TestPlane.start('job');
  await start(plane, { completions: 2, parallelism: 2 });
  const pods = await plane.list(PODS);
  await Promise.all([
    ...pods.map((pod) => end(plane, pod, 'Succeeded', 0)),
    plane.patch(`${JOBS}/j`, { metadata: { annotations: { a: 'b' } } }),
  ]);
  expect(await statusOf(plane)).toMatchObject({ succeeded: 2, conditions: [{}, { type: 'Complete' }] });
  expect(plane.errors).toEqual([]);
});
