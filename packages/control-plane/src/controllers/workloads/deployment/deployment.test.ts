import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { TestPlane } from '../../testing.ts';
import { planScale } from './scale.ts';
import { countStatus } from './status.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const WEB = `${APPS}/deployments/web`;
const PODS = '/api/v1/namespaces/default/pods';
const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});
const deploymentOf = (more: Record<string, unknown>) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: template('one'), ...more },
});

const makeReady = async (plane: TestPlane, image: string, count = 100): Promise<void> => {
  const pods = (await plane.list(PODS)).filter(
    (pod) => (pod.spec as { containers: { image: string }[] }).containers[0]?.image === image,
  );
  for (const pod of pods.slice(0, count)) {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: plane.clock.now().toISOString() }];
    await plane.patch(`${PODS}/${pod.metadata.name}/status`, { status: { phase: 'Running', conditions } });
  }
};

type Condition = { type: string; status: string; reason: string; message: string };
const progress = async (plane: TestPlane): Promise<Condition | undefined> => {
  const { status } = await plane.must('GET', WEB);
  return (status as { conditions: Condition[] }).conditions.find(({ type }) => type === 'Progressing');
};

const reported = async (plane: TestPlane): Promise<string[]> =>
  (await plane.list('/api/v1/namespaces/default/events'))
    .filter((event) => (event.involvedObject as { kind: string }).kind === 'Deployment')
    .sort(
      (a, b) =>
        Number.parseInt(a.metadata.name?.split('.')[1] ?? '', 16) -
        Number.parseInt(b.metadata.name?.split('.')[1] ?? '', 16),
    )
    .map(({ message }) => String(message).replace(/web-\w+/, 'SET'));

const sizes = async (plane: TestPlane): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await plane.list(`${APPS}/replicasets`)).map((set) => {
      const spec = set.spec as { replicas: number; template: { spec: { containers: { image: string }[] } } };
      return [spec.template.spec.containers[0]?.image, spec.replicas];
    }),
  );

test('a rollout without progress exceeds its deadline, and recovers when it continues', async () => {
  await using plane = await TestPlane.start('replicaset', 'deployment');
  await plane.must('POST', `${APPS}/deployments`, deploymentOf({ replicas: 2, progressDeadlineSeconds: 60 }));
  expect(await progress(plane)).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' });
  await plane.clock.advance(40_000);
  await makeReady(plane, 'one', 1);
  await plane.clock.advance(50_000);
  expect(await progress(plane)).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' });
  await plane.clock.advance(20_000);
  const { message, ...late } = (await progress(plane)) ?? { message: '' };
  expect(late).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' });
  expect(message).toMatch(/^ReplicaSet "web-\w+" has timed out progressing\.$/);
  await makeReady(plane, 'one');
  expect(await progress(plane)).toMatchObject({ status: 'True', reason: 'NewReplicaSetAvailable' });
  expect(plane.errors).toEqual([]);
});

test('a rollout that is scaled during its progress scales all its sets, with events', async () => {
  await using plane = await TestPlane.start('replicaset', 'deployment');
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } };
  await plane.must('POST', `${APPS}/deployments`, deploymentOf({ replicas: 10, strategy }));
  await makeReady(plane, 'one');
  await plane.patch(WEB, { spec: { template: template('two') } });
  expect(await sizes(plane)).toEqual({ one: 8, two: 5 });
  await plane.patch(WEB, { spec: { replicas: 15 } });
  expect(await sizes(plane)).toEqual({ one: 11, two: 7 });
  expect(await reported(plane)).toEqual([
    'Scaled up replica set SET from 0 to 10',
    'Scaled up replica set SET from 0 to 3',
    'Scaled down replica set SET from 10 to 8',
    'Scaled up replica set SET from 3 to 5',
    'Scaled up replica set SET from 8 to 11',
    'Scaled up replica set SET from 5 to 7',
  ]);
  expect(plane.errors).toEqual([]);
});

test('a pause and its end are reported; a paused rollout is still scaled', async () => {
  await using plane = await TestPlane.start('replicaset', 'deployment');
  await plane.must('POST', `${APPS}/deployments`, deploymentOf({ replicas: 3 }));
  await makeReady(plane, 'one');
  await plane.patch(WEB, { spec: { paused: true, template: template('two') } });
  expect(await progress(plane)).toMatchObject({ status: 'Unknown', reason: 'DeploymentPaused' });
  await plane.patch(WEB, { spec: { replicas: 5 } });
  expect(await sizes(plane)).toEqual({ one: 5 });
  await plane.patch(WEB, { spec: { paused: false } });
  expect(await sizes(plane)).toMatchObject({ two: 3 });
  expect((await progress(plane))?.reason).not.toBe('DeploymentPaused');
  expect(plane.errors).toEqual([]);
});

test('a rollback is recorded, and the history is limited', async () => {
  await using plane = await TestPlane.start('replicaset', 'deployment');
  await plane.must('POST', `${APPS}/deployments`, deploymentOf({ replicas: 1, revisionHistoryLimit: 1 }));
  for (const image of ['two', 'three', 'two']) {
    await makeReady(plane, 'one');
    await plane.patch(WEB, { spec: { template: template(image) } });
    for (let round = 0; round < 3; round++) await makeReady(plane, image);
  }
  const sets = await plane.list(`${APPS}/replicasets`);
  const facts = sets.map(({ metadata: { annotations = {} } }) => [
    annotations['deployment.kubernetes.io/revision'],
    annotations['deployment.kubernetes.io/revision-history'],
  ]);
  expect(facts.sort()).toEqual([
    ['3', undefined],
    ['4', '2'],
  ]);
  expect((await plane.must('GET', WEB)).metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '4' });
  expect(plane.errors).toEqual([]);
});

const set = (name: string, replicas: number, max: number, at: number): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: {
    name,
    creationTimestamp: new Date(at).toISOString(),
    annotations: { 'deployment.kubernetes.io/max-replicas': String(max) },
  },
  spec: { replicas },
});

test.each<[string, number, [number, number, number], Record<string, number>]>([
  ['grows by parts', 15, [5, 3, 2], { a: 8, b: 5, c: 2 }],
  ['gives the rest to the largest', 11, [5, 3, 2], { a: 6, b: 3, c: 2 }],
  ['shrinks by parts', 5, [5, 3, 2], { a: 2, b: 2, c: 1 }],
  ['shrinks to nothing', 0, [5, 3, 2], { a: 0, b: 0, c: 0 }],
])('a scale during a rollout %s', (_name, replicas, [a, b, c], wanted) => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  const deployment: ApiObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {},
    spec: { replicas, strategy },
  };
  const fresh = set('c', c, 10, 3000);
  const plan = planScale({ deployment, fresh, old: [set('a', a, 10, 1000), set('b', b, 10, 2000)] });
  expect(Object.fromEntries(plan.map((one) => [one.set.metadata.name, one.replicas]))).toEqual(wanted);
});

test('pods that cannot be created are unavailable too', () => {
  const metadata = { name: 'd', namespace: 'default', generation: 1 };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 3 }, status: {} };
  const made = { replicas: 1, readyReplicas: 1, availableReplicas: 1 };
  const set = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata, spec: { replicas: 3 }, status: made };
  expect(countStatus(deployment, set, [set], new Date(0))).toMatchObject({ replicas: 1, unavailableReplicas: 2 });
});
