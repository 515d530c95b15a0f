import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const PODS = '/api/v1/namespaces/default/pods';
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const spec = (more: Record<string, unknown> = {}) => ({ selector: { matchLabels: { app: 'web' } }, template, ...more });
const ready = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z' }],
};

test('a replica set creates, counts, replaces and releases its pods', async () => {
  await using plane = await TestPlane.start('replicaset');
  await plane.must('POST', `${APPS}/replicasets`, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web' },
    spec: spec({ replicas: 3, minReadySeconds: 10 }),
  });
  const pods = await plane.list(PODS);
  expect(pods.map(({ metadata }) => metadata.generateName)).toEqual(['web-', 'web-', 'web-']);
  for (const { metadata } of pods) await plane.patch(`${PODS}/${metadata.name}/status`, { status: ready });
  const status = async () => (await plane.must('GET', `${APPS}/replicasets/web`)).status;
  expect(await status()).toMatchObject({ replicas: 3, readyReplicas: 3 });
  expect(await status()).not.toHaveProperty('availableReplicas');
  await plane.clock.advance(10_000);
  expect(await status()).toMatchObject({ availableReplicas: 3 });
  await plane.must('DELETE', `${PODS}/${pods[0]?.metadata.name}`);
  expect(await plane.list(PODS)).toHaveLength(3);
  await plane.patch(`${APPS}/replicasets/web`, { spec: { replicas: 1 } });
  expect(await plane.list(PODS)).toHaveLength(1);
  expect(plane.errors).toEqual([]);
});

test('a deployment rolls out a new template, and its revision increases', async () => {
  await using plane = await TestPlane.start('replicaset', 'deployment');
  await plane.must('POST', `${APPS}/deployments`, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: spec({ replicas: 2 }),
  });
  const makeReady = async () => {
    for (let round = 0; round < 10; round++) {
      for (const pod of await plane.list(PODS)) {
        if ((pod.status as { phase: string }).phase === 'Pending')
          await plane.patch(`${PODS}/${pod.metadata.name}/status`, { status: ready });
      }
    }
  };
  await makeReady();
  await plane.patch(`${APPS}/deployments/web`, {
    spec: { template: { spec: { containers: [{ name: 'c', image: 'j' }] } } },
  });
  await makeReady();
  const images = (await plane.list(PODS)).map(
    (pod) => (pod.spec as { containers: { image: string }[] }).containers[0]?.image,
  );
  expect(images).toEqual(['j', 'j']);
  const deployment = await plane.must('GET', `${APPS}/deployments/web`);
  expect(deployment.metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '2' });
  expect(deployment.status).toMatchObject({ updatedReplicas: 2, availableReplicas: 2, replicas: 2 });
  expect(plane.errors).toEqual([]);
});

test('a stateful set creates its pods in order and keeps their names', async () => {
  await using plane = await TestPlane.start('statefulset');
  await plane.must('POST', `${APPS}/statefulsets`, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: spec({ replicas: 2, serviceName: 'db' }),
  });
  const names = async () => (await plane.list(PODS)).map(({ metadata }) => metadata.name);
  expect(await names()).toEqual(['db-0']);
  await plane.patch(`${PODS}/db-0/status`, { status: ready });
  expect(await names()).toEqual(['db-0', 'db-1']);
  await plane.patch(`${PODS}/db-1/status`, { status: ready });
  await plane.must('DELETE', `${PODS}/db-0`);
  expect(await names()).toEqual(['db-0', 'db-1']);
  await plane.patch(`${APPS}/statefulsets/db`, { spec: { replicas: 1 } });
  await plane.patch(`${PODS}/db-0/status`, { status: ready });
  expect(await names()).toEqual(['db-0']);
  expect(plane.errors).toEqual([]);
});

test('a stateful set adopts an existing pod with its name, labels it and reports it; its own pods have a generateName', async () => {
  await using plane = await TestPlane.start('statefulset');
  const { template } = spec() as { template: { metadata: { labels: object }; spec: object } };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db-0', labels: template.metadata.labels } };
  await plane.must('POST', PODS, { ...pod, spec: template.spec });
  await plane.must('POST', `${APPS}/statefulsets`, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: spec({ replicas: 2, serviceName: 'db' }),
  });
  expect((await plane.must('GET', `${PODS}/db-0`)).metadata).toMatchObject({
    labels: { 'statefulset.kubernetes.io/pod-name': 'db-0', 'apps.kubernetes.io/pod-index': '0' },
    ownerReferences: [{ kind: 'StatefulSet', name: 'db' }],
  });
  await plane.patch(`${PODS}/db-0/status`, { status: ready });
  expect((await plane.must('GET', `${PODS}/db-1`)).metadata.generateName).toBe('db-');
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ message }) => message);
  expect(reported).toEqual([
    'Update Pod db-0 in StatefulSet db successful',
    'Create Pod db-1 in StatefulSet db successful',
  ]);
  expect(plane.errors).toEqual([]);
});

test('a daemon set has a pod on each node that it selects', async () => {
  await using plane = await TestPlane.start('daemonset', 'scheduler');
  await plane.must('POST', `${APPS}/daemonsets`, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'd' },
    spec: spec(),
  });
  for (const name of ['a', 'b'])
    await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  for (const name of ['a', 'b']) await plane.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
  const nodes = (await plane.list(PODS)).map((pod) => (pod.spec as { nodeName?: string }).nodeName);
  expect(nodes.sort()).toEqual(['a', 'b']);
  expect((await plane.must('GET', `${APPS}/daemonsets/d`)).status).toMatchObject({
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
  });
  expect(plane.errors).toEqual([]);
});

test('a job runs until its completions are reached', async () => {
  await using plane = await TestPlane.start('job');
  const job = {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
    completions: 2,
    parallelism: 1,
  };
  await plane.must('POST', '/apis/batch/v1/namespaces/default/jobs', {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j' },
    spec: job,
  });
  for (let round = 0; round < 2; round++) {
    const [pod] = (await plane.list(PODS)).filter((one) => (one.status as { phase: string }).phase === 'Pending');
    await plane.patch(`${PODS}/${pod?.metadata.name}/status`, { status: { phase: 'Succeeded' } });
  }
  expect(await plane.list(PODS)).toHaveLength(2);
  expect((await plane.must('GET', '/apis/batch/v1/namespaces/default/jobs/j')).status).toMatchObject({
    succeeded: 2,
    conditions: [
      { type: 'SuccessCriteriaMet', status: 'True' },
      { type: 'Complete', status: 'True', reason: 'CompletionsReached' },
    ],
  });
  expect(plane.errors).toEqual([]);
});
