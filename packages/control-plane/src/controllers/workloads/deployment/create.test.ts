import { expect, test } from 'vitest';
import { TestPlane } from '../../testing.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
};
type Status = { conditions: Record<string, unknown>[]; collisionCount?: number };
const statusOf = async (plane: TestPlane): Promise<Status> =>
  (await plane.must('GET', `${APPS}/deployments/web`)).status as Status;

test('ReplicaSetCreateError: a refused set is reported in an event and in Progressing until it is created', async () => {
  await using plane = await TestPlane.start('deployment', 'resourcequota');
  const quotas = '/api/v1/namespaces/default/resourcequotas';
  const hard = { 'count/replicasets.apps': '0' };
  await plane.must('POST', quotas, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'q' },
    spec: { hard },
  });
  await plane.must('POST', `${APPS}/deployments`, deployment);
  const condition = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError' };
  const message = expect.stringMatching(/^Failed to create new replica set "web-\w+": .* exceeded quota: q/);
  expect((await statusOf(plane)).conditions).toMatchObject([{ ...condition, message }]);
  const [event] = await plane.list('/api/v1/namespaces/default/events');
  expect(event).toMatchObject({ type: 'Warning', reason: 'ReplicaSetCreateError', message });
  await plane.must('DELETE', `${quotas}/q`);
  await plane.clock.advance(60_000);
  expect((await statusOf(plane)).conditions).toContainEqual(
    expect.objectContaining({ type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated' }),
  );
});

test('a set of another owner with the same name is a collision: it is counted, and another name is used', async () => {
  await using plane = await TestPlane.start('deployment');
  await plane.must('POST', `${APPS}/deployments`, deployment);
  const [first] = await plane.list(`${APPS}/replicasets`);
  await plane.must('DELETE', `${APPS}/deployments/web`, { propagationPolicy: 'Background' });
  await plane.must('POST', `${APPS}/deployments`, deployment);
  await plane.clock.advance(1000);
  expect((await statusOf(plane)).collisionCount).toBe(1);
  const names = (await plane.list(`${APPS}/replicasets`)).map(({ metadata }) => metadata.name);
  expect(new Set(names).size).toBe(2);
  expect(names).toContain(first?.metadata.name);
});
