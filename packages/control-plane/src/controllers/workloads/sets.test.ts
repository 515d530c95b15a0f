import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const PODS = '/api/v1/namespaces/default/pods';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const template = (image: string) => ({
  metadata: { labels: { app: 'x' } },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image }] },
});
const create = (plane: TestPlane, kind: string, spec: Record<string, unknown>): Promise<ApiObject> =>
  plane.must('POST', `${APPS}/${kind.toLowerCase()}s`, {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'x' },
    spec: { selector: { matchLabels: { app: 'x' } }, template: template('one'), ...spec },
  });
const images = async (plane: TestPlane): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await plane.list(PODS)).map((pod) => [
      pod.metadata.name ?? '',
      (pod.spec as { containers: { image: string }[] }).containers[0]?.image ?? '',
    ]),
  );
const isReady = (pod: ApiObject): boolean =>
  ((pod.status as { conditions?: { type: string; status: string }[] }).conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
const ready = async (plane: TestPlane, name: string): Promise<void> => {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: plane.clock.now().toISOString() }];
  await plane.patch(`${PODS}/${name}/status`, { status: { phase: 'Running', conditions } });
};
const allReady = async (plane: TestPlane): Promise<void> => {
  for (let round = 0; round < 8; round++) {
    const pod = (await plane.list(PODS)).find((one) => !isReady(one));
    if (pod === undefined) return;
    await ready(plane, pod.metadata.name ?? '');
  }
};

test('a stateful set updates from its last pod to its partition; a pod below the partition keeps its template', async () => {
  await using plane = await TestPlane.start('statefulset');
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
  await create(plane, 'StatefulSet', { replicas: 3, serviceName: 'x', updateStrategy });
  await allReady(plane);
  await plane.patch(`${APPS}/statefulsets/x`, { spec: { template: template('two') } });
  await allReady(plane);
  expect(await images(plane)).toEqual({ 'x-0': 'one', 'x-1': 'one', 'x-2': 'two' });
  const status = async () => (await plane.must('GET', `${APPS}/statefulsets/x`)).status as Record<string, unknown>;
  expect(await status()).toMatchObject({ currentReplicas: 2, updatedReplicas: 1 });
  await plane.must('DELETE', `${PODS}/x-0`);
  expect(await images(plane)).toMatchObject({ 'x-0': 'one' });
  await allReady(plane);
  await plane.patch(`${APPS}/statefulsets/x`, { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
  for (let round = 0; round < 3; round++) await allReady(plane);
  expect(await images(plane)).toEqual({ 'x-0': 'two', 'x-1': 'two', 'x-2': 'two' });
  const { currentRevision, updateRevision } = await status();
  expect(currentRevision).toBe(updateRevision);
  expect(plane.errors).toEqual([]);
});

test('with OnDelete a stateful set updates no pod itself; with Parallel it does not wait', async () => {
  await using plane = await TestPlane.start('statefulset');
  await create(plane, 'StatefulSet', {
    replicas: 3,
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'OnDelete' },
  });
  expect(Object.keys(await images(plane))).toHaveLength(3);
  await allReady(plane);
  await plane.patch(`${APPS}/statefulsets/x`, { spec: { template: template('two') } });
  expect(new Set(Object.values(await images(plane)))).toEqual(new Set(['one']));
  await plane.must('DELETE', `${PODS}/x-1`);
  expect(await images(plane)).toEqual({ 'x-0': 'one', 'x-1': 'two', 'x-2': 'one' });
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ message }) => message);
  expect(reported).toContain('Create Pod x-1 in StatefulSet x successful');
  expect(plane.errors).toEqual([]);
});

test('claims of a stateful set are deleted by its policy: with a scaled-in pod, or with the set', async () => {
  await using plane = await TestPlane.start('statefulset', 'garbage-collector', 'pvc-protection');
  await create(plane, 'StatefulSet', {
    replicas: 2,
    podManagementPolicy: 'Parallel',
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  });
  await allReady(plane);
  const claims = async () => (await plane.list(CLAIMS)).map(({ metadata }) => metadata.name);
  expect(await claims()).toEqual(['data-x-0', 'data-x-1']);
  await plane.patch(`${APPS}/statefulsets/x`, { spec: { replicas: 1 } });
  expect(await claims()).toEqual(['data-x-0']);
  await plane.patch(`${APPS}/statefulsets/x`, {
    spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } },
  });
  const [claim] = await plane.list(CLAIMS);
  expect(claim?.metadata.ownerReferences).toMatchObject([{ kind: 'StatefulSet', name: 'x' }]);
  await plane.must('DELETE', `${APPS}/statefulsets/x`, { propagationPolicy: 'Background' });
  expect(await claims()).toEqual([]);
  expect(plane.errors).toEqual([]);
});

const nodes = async (plane: TestPlane, ...names: string[]): Promise<void> => {
  for (const name of names) {
    await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    await plane.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
  }
};
const down = async (plane: TestPlane): Promise<number> =>
  (await plane.list(PODS)).filter((pod) => !isReady(pod)).length;

test.each([
  ['one by one', { maxUnavailable: 1 }, 1],
  ['two at a time', { maxUnavailable: '50%' }, 2],
])('a daemon set updates its pods %s', async (_name, rollingUpdate, most) => {
  await using plane = await TestPlane.start('daemonset', 'scheduler');
  await nodes(plane, 'a', 'b', 'c', 'd');
  await create(plane, 'DaemonSet', { updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
  await allReady(plane);
  await plane.patch(`${APPS}/daemonsets/x`, { spec: { template: template('two') } });
  for (let round = 0; round < 4; round++) {
    expect(await down(plane)).toBeLessThanOrEqual(most);
    await allReady(plane);
  }
  expect(Object.values(await images(plane))).toEqual(['two', 'two', 'two', 'two']);
  expect((await plane.must('GET', `${APPS}/daemonsets/x`)).status).toMatchObject({ updatedNumberScheduled: 4 });
  expect(plane.errors).toEqual([]);
});

test('a daemon set with a surge creates the new pod before it deletes the old one', async () => {
  await using plane = await TestPlane.start('daemonset', 'scheduler');
  await nodes(plane, 'a', 'b');
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  await create(plane, 'DaemonSet', { updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
  await allReady(plane);
  await plane.patch(`${APPS}/daemonsets/x`, { spec: { template: template('two') } });
  expect(Object.values(await images(plane)).sort()).toEqual(['one', 'one', 'two']);
  for (let round = 0; round < 3; round++) await allReady(plane);
  expect(Object.values(await images(plane))).toEqual(['two', 'two']);
  expect(plane.errors).toEqual([]);
});

test('a daemon stays on a cordoned node, and leaves a node with a NoExecute taint without a toleration', async () => {
  await using plane = await TestPlane.start('daemonset', 'scheduler');
  await nodes(plane, 'a');
  await create(plane, 'DaemonSet', {});
  await allReady(plane);
  const taint = (effect: string) => plane.patch('/api/v1/nodes/a', { spec: { taints: [{ key: 'k', effect }] } });
  await taint('NoSchedule');
  expect(await plane.list(PODS)).toHaveLength(1);
  expect((await plane.must('GET', `${APPS}/daemonsets/x`)).status).toMatchObject({
    desiredNumberScheduled: 0,
    numberMisscheduled: 1,
  });
  await taint('NoExecute');
  expect(await plane.list(PODS)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('a failed daemon is replaced, and the next one after a delay', async () => {
  await using plane = await TestPlane.start('daemonset', 'scheduler');
  await nodes(plane, 'a');
  await create(plane, 'DaemonSet', {});
  const fail = async (): Promise<string> => {
    const [pod] = await plane.list(PODS);
    await plane.patch(`${PODS}/${pod?.metadata.name}/status`, { status: { phase: 'Failed' } });
    return pod?.metadata.name ?? '';
  };
  const first = await fail();
  expect(Object.keys(await images(plane))).not.toContain(first);
  const second = await fail();
  expect(Object.keys(await images(plane))).toEqual([second]);
  await plane.clock.advance(1000);
  expect(Object.keys(await images(plane))).not.toContain(second);
  expect(plane.errors).toEqual([]);
});

test('a replica set that cannot create pods reports the reason until it can', async () => {
  await using plane = await TestPlane.start('replicaset', 'resourcequota');
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } };
  await plane.must('POST', '/api/v1/namespaces/default/resourcequotas', quota);
  await create(plane, 'ReplicaSet', { replicas: 2 });
  const status = async () => (await plane.must('GET', `${APPS}/replicasets/x`)).status as { conditions?: unknown[] };
  expect((await status()).conditions).toMatchObject([
    { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' },
  ]);
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ reason }) => reason);
  expect(reported).toEqual(expect.arrayContaining(['SuccessfulCreate', 'FailedCreate']));
  await plane.must('DELETE', '/api/v1/namespaces/default/resourcequotas/q');
  await plane.clock.advance(60_000);
  expect(await status()).toMatchObject({ replicas: 2 });
  expect(await status()).not.toHaveProperty('conditions');
});

test('Parallel: a set scales in, creates a missing pod and updates its template at once', async () => {
  await using plane = await TestPlane.start('statefulset');
  await create(plane, 'StatefulSet', { replicas: 4, serviceName: 'x', podManagementPolicy: 'Parallel' });
  await allReady(plane);
  await plane.patch(`${APPS}/statefulsets/x`, { spec: { replicas: 3, template: template('two') } });
  expect(Object.keys(await images(plane))).toEqual(['x-0', 'x-1', 'x-2']);
  expect(await images(plane)).toMatchObject({ 'x-2': 'two' });
  expect(plane.errors).toEqual([]);
});
