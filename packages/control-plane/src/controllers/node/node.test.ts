import { expect, test } from 'vitest';
import { settle, TestPlane } from '../testing.ts';
import { surplusEnded } from './pod-gc.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const PODS = '/api/v1/namespaces/default/pods';

async function join(plane: TestPlane): Promise<void> {
  await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  await plane.patch('/api/v1/nodes/n/status', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  await plane.must('POST', LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n' },
    spec: { holderIdentity: 'n' },
  });
}

const taintsOf = async (plane: TestPlane): Promise<unknown[]> => {
  const spec = (await plane.must('GET', '/api/v1/nodes/n')).spec as { taints?: { key: string; effect: string }[] };
  return (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
};

test('cordons and pressure conditions become taints, which are removed with them', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane);
  await plane.patch('/api/v1/nodes/n', { spec: { unschedulable: true } });
  expect(await taintsOf(plane)).toEqual(['node.kubernetes.io/unschedulable:NoSchedule']);
  await plane.patch('/api/v1/nodes/n/status', {
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DiskPressure', status: 'True' },
      ],
    },
  });
  await plane.patch('/api/v1/nodes/n', { spec: { unschedulable: null } });
  expect(await taintsOf(plane)).toEqual(['node.kubernetes.io/disk-pressure:NoSchedule']);
});

test('pods are evicted according to their tolerations', async () => {
  await using plane = await TestPlane.start('taint-eviction');
  await join(plane);
  const pod = (name: string, tolerations: unknown[]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName: 'n', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }], tolerations },
  });
  const tolerate = (seconds?: number) => [
    {
      key: 'k',
      operator: 'Exists',
      effect: 'NoExecute',
      ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    },
  ];
  await plane.must('POST', PODS, pod('never', tolerate()));
  await plane.must('POST', PODS, pod('later', tolerate(60)));
  await plane.must('POST', PODS, pod('now', []));
  const timeAdded = '2024-01-01T00:00:00Z';
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [{ key: 'k', effect: 'NoExecute', timeAdded }] } });
  const left = async () =>
    (await plane.list(PODS))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name);
  expect(await left()).toEqual(['later', 'never']);
  await plane.clock.advance(61_000);
  expect(await left()).toEqual(['never']);
  expect(plane.errors).toEqual([]);
});

test('a taint without timeAdded counts from its first observation; without a taint no pod is evicted', async () => {
  await using plane = await TestPlane.start('taint-eviction');
  await join(plane);
  const spec = { nodeName: 'n', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] };
  for (const [name, tolerationSeconds] of Object.entries({ soon: 3, late: 9 })) {
    const tolerations = [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];
    await plane.must('POST', PODS, { metadata: { name }, spec: { ...spec, tolerations } });
  }
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
  await plane.clock.advance(4000);
  const left = async () => (await plane.list(PODS)).map(({ metadata }) => metadata.name);
  expect(await left()).toEqual(['late']);
  await plane.patch('/api/v1/nodes/n', { spec: { taints: null } });
  await plane.clock.advance(60_000);
  expect(await left()).toEqual(['late']);
  const events = await plane.list('/api/v1/namespaces/default/events');
  expect(events.map(({ message }) => message).sort()).toEqual([
    'Cancelling deletion of Pod default/late',
    'Marking for deletion Pod default/soon',
  ]);
  expect(plane.errors).toEqual([]);
});

test('a terminating pod is evicted too, and gets the reason as a condition', async () => {
  await using plane = await TestPlane.start('taint-eviction');
  await join(plane);
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
  await plane.must('POST', PODS, { metadata: { name: 'dying' }, spec });
  await plane.must('DELETE', `${PODS}/dying`);
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
  const { status } = await plane.must('GET', `${PODS}/dying`);
  const disrupted = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' };
  expect(status).toMatchObject({ conditions: [disrupted] });
  expect(plane.errors).toEqual([]);
});

test('a pod that is evicted again gets another event, and keeps its condition', async () => {
  await using plane = await TestPlane.start('taint-eviction');
  await join(plane);
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
  await plane.must('POST', PODS, { metadata: { name: 'p' }, spec });
  const taint = (key: string) => ({ key, effect: 'NoExecute' });
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [taint('k')] } });
  const before = await plane.must('GET', `${PODS}/p`);
  expect(before.status).toMatchObject({ conditions: [{ type: 'DisruptionTarget', observedGeneration: 1 }] });
  await plane.clock.advance(1000);
  await plane.patch('/api/v1/nodes/n', { spec: { taints: [taint('k'), taint('l')] } });
  // The deletion of the pod increases its generation.
  expect((await plane.must('GET', `${PODS}/p`)).status).toEqual(before.status);
  const reported = await plane.list('/api/v1/namespaces/default/events');
  expect(reported.map(({ reason, count }) => `${reason} ${count}`)).toEqual(['TaintManagerEviction 2']);
  expect(plane.errors).toEqual([]);
});

test('pods of a deleted node are removed after a delay', async () => {
  await using plane = await TestPlane.start('pod-garbage-collector');
  await join(plane);
  await plane.must('POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  await plane.must('DELETE', '/api/v1/nodes/n');
  await plane.clock.advance(39_000);
  expect(await plane.exists(`${PODS}/p`)).toBe(true);
  await plane.clock.advance(2_000);
  await settle();
  expect(await plane.exists(`${PODS}/p`)).toBe(false);
});

const give = (plane: TestPlane, name: string, spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) =>
  plane.must('POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });

test('podgc, orphaned: a pod of a deleted node becomes Failed with a reason before it is deleted', async () => {
  await using plane = await TestPlane.start('pod-garbage-collector');
  await join(plane);
  await give(plane, 'p', { nodeName: 'n' }, { finalizers: ['example.dev/stay'] });
  await plane.must('DELETE', '/api/v1/nodes/n');
  await plane.clock.advance(41_000);
  await settle();
  const pod = await plane.must('GET', `${PODS}/p`);
  expect(pod.metadata.deletionTimestamp).toBeDefined();
  expect(pod['status']).toMatchObject({
    phase: 'Failed',
    conditions: [
      {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByPodGC',
        message: 'PodGC: node no longer exists',
        observedGeneration: 1,
      },
    ],
  });
  expect(plane.errors).toEqual([]);
});

test('podgc, unscheduled: a terminating pod without a node is deleted', async () => {
  await using plane = await TestPlane.start('pod-garbage-collector');
  await give(plane, 'p', { schedulerName: 'nobody' }, { finalizers: ['example.dev/stay'] });
  await plane.must('DELETE', `${PODS}/p`);
  expect((await plane.must('GET', `${PODS}/p`))['status']).toMatchObject({ phase: 'Failed' });
});

test('podgc, terminated: surplus finished pods are deleted, first the evicted ones, then the oldest', () => {
  const ended = (name: string, day: number, reason?: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, creationTimestamp: `2024-01-0${day}T00:00:00Z` },
    status: { phase: 'Failed', reason },
  });
  const pods = [ended('new', 3), ended('old', 1), ended('evicted', 4, 'Evicted'), ended('middle', 2)];
  expect(surplusEnded(pods, 2).map(({ metadata }) => metadata.name)).toEqual(['evicted', 'old']);
  expect(surplusEnded(pods, 4)).toEqual([]);
});
