import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const EVENTS = `${NAMESPACE}/events`;

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

async function givePod(plane: TestPlane, name: string, owner?: Owner): Promise<void> {
  await plane.must('POST', `${NAMESPACE}/pods`, {
    metadata: {
      name,
      labels: { app: 'x' },
      ...(owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] }),
    },
    spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 },
  });
  await plane.patch(`${NAMESPACE}/pods/${name}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
}

const giveBudget = (plane: TestPlane, spec: Record<string, unknown>, name = 'b'): Promise<ApiObject> =>
  plane.must('POST', BUDGETS, { metadata: { name }, spec: { selector: { matchLabels: { app: 'x' } }, ...spec } });

const statusOf = async (plane: TestPlane, name = 'b'): Promise<Record<string, unknown>> =>
  (await plane.must('GET', `${BUDGETS}/${name}`))['status'] as Record<string, unknown>;

const reasons = async (plane: TestPlane): Promise<unknown[]> =>
  (await plane.list(EVENTS)).map((event) => `${event['type']} ${event['reason']}`);

const evict = (plane: TestPlane, name: string, deleteOptions?: unknown) =>
  plane.send('POST', `${NAMESPACE}/pods/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...(deleteOptions === undefined ? {} : { deleteOptions }),
  });

test('a budget without pods reports NoPods and allows nothing', async () => {
  await using plane = await TestPlane.start('disruption');
  await giveBudget(plane, { minAvailable: 0 });
  expect(await statusOf(plane)).toMatchObject({ disruptionsAllowed: 0, expectedPods: 0 });
  expect(await reasons(plane)).toEqual(['Normal NoPods']);
});

test('the scale of an owner of a kind without a cache is read from its scale subresource', async () => {
  await using plane = await TestPlane.start('disruption');
  const rc = await plane.must('POST', `${NAMESPACE}/replicationcontrollers`, {
    metadata: { name: 'rc' },
    spec: {
      replicas: 4,
      selector: { app: 'x' },
      template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  await givePod(plane, 'a', {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    name: 'rc',
    uid: rc.metadata.uid ?? '',
  });
  await giveBudget(plane, { maxUnavailable: 1 });
  expect(await statusOf(plane)).toMatchObject({ expectedPods: 4, desiredHealthy: 3, currentHealthy: 1 });
});

test('a missing owner fails the sync: nothing is allowed, and a condition and an event contain the reason', async () => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a', { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone', uid: '1' });
  await giveBudget(plane, { minAvailable: '50%' });
  const message = 'found no controllers for pod "a"';
  expect(await statusOf(plane)).toMatchObject({
    disruptionsAllowed: 0,
    conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message }],
  });
  expect(await reasons(plane)).toEqual(['Warning CalculateExpectedPodCountFailed']);
  await plane.patch(`${BUDGETS}/b/status`, { status: { observedGeneration: 1 } });
  const answer = await evict(plane, 'a');
  expect(answer).toMatchObject({
    code: 429,
    body: {
      details: {
        causes: [
          {
            message: `The disruption budget b does not allow evicting pods currently because it failed sync: ${message}`,
          },
        ],
      },
    },
  });
});

test.each([
  ['apps/v1', 'Widget', 'no matches for kind "Widget" in version "apps/v1"'],
  ['apps/v1', 'DaemonSet', 'daemonsets.apps does not implement the scale subresource'],
  ['v1', 'Node', 'nodes does not implement the scale subresource'],
])('an owner without a scale (%s %s) fails the sync', async (apiVersion, kind, message) => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a', { apiVersion, kind, name: 'o', uid: '1' });
  await giveBudget(plane, { maxUnavailable: 1 });
  expect(await statusOf(plane)).toMatchObject({ conditions: [{ reason: 'SyncFailed', message }] });
});

test('pods without an owner are reported if a scale is needed, and do not count', async () => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a');
  await giveBudget(plane, { maxUnavailable: 1 });
  expect(await statusOf(plane)).toMatchObject({ expectedPods: 0, currentHealthy: 1, disruptionsAllowed: 0 });
  const [event] = await plane.list(EVENTS);
  expect(event).toMatchObject({ reason: 'UnmanagedPods', involvedObject: { kind: 'PodDisruptionBudget', name: 'b' } });
  expect(event?.['message']).toContain(
    '(selector: &LabelSelector{MatchLabels:map[string]string{app: x,},MatchExpressions:[]LabelSelectorRequirement{},})',
  );
});

test('a pod with two budgets is reported, and cannot be evicted', async () => {
  await using plane = await TestPlane.start('disruption');
  await giveBudget(plane, { minAvailable: 0 });
  await giveBudget(plane, { minAvailable: 0 }, 'c');
  await givePod(plane, 'a');
  expect(await reasons(plane)).toContain('Warning MultiplePodDisruptionBudgets');
  expect(await evict(plane, 'a')).toMatchObject({
    code: 500,
    body: {
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    },
  });
});

test('an evicted pod that still exists after two minutes counts again, is reported, and loses its condition', async () => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a');
  await giveBudget(plane, { minAvailable: 0 });
  const since = plane.clock.now().toISOString().replace('.000', '');
  await plane.patch(`${NAMESPACE}/pods/a/status`, {
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', lastTransitionTime: since },
      ],
    },
  });
  await plane.patch(`${BUDGETS}/b/status`, { status: { disruptedPods: { a: since } } });
  expect(await statusOf(plane)).toMatchObject({ currentHealthy: 0, disruptionsAllowed: 0 });
  await plane.clock.advance(119_000);
  expect(await statusOf(plane)).toMatchObject({ currentHealthy: 0 });
  await plane.clock.advance(2000);
  expect(await statusOf(plane)).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 1 });
  expect(await reasons(plane)).toContain('Warning NotDeleted');
  const pod = await plane.must('GET', `${NAMESPACE}/pods/a`);
  expect(pod['status']).toMatchObject({
    conditions: [{ type: 'Ready' }, { type: 'DisruptionTarget', status: 'False' }],
  });
  expect(plane.errors).toEqual([]);
});

test('an eviction with the version of the pod as precondition succeeds although the eviction changes the pod', async () => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a');
  const { resourceVersion } = (await plane.must('GET', `${NAMESPACE}/pods/a`)).metadata;
  expect(await evict(plane, 'a', { preconditions: { resourceVersion: '1' } })).toMatchObject({
    code: 409,
    body: {
      message: `Operation cannot be fulfilled on Pod "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    },
  });
  expect(await evict(plane, 'a', { preconditions: { resourceVersion } })).toMatchObject({ code: 201 });
  expect(await plane.exists(`${NAMESPACE}/pods/a`)).toBe(false);
});

test.each([
  ['IfHealthyBudget', 429],
  ['AlwaysAllow', 201],
])('unhealthyPodEvictionPolicy %s answers %i for an unready pod of a broken budget', async (policy, code) => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a');
  await plane.patch(`${NAMESPACE}/pods/a/status`, { status: { conditions: [{ type: 'Ready', status: 'False' }] } });
  await giveBudget(plane, { minAvailable: 1, unhealthyPodEvictionPolicy: policy });
  expect((await evict(plane, 'a')).code).toBe(code);
});

test('the eviction of an unready pod does not use the budget if enough others are healthy', async () => {
  await using plane = await TestPlane.start('disruption');
  await givePod(plane, 'a');
  await givePod(plane, 'b');
  await plane.patch(`${NAMESPACE}/pods/a/status`, { status: { conditions: [{ type: 'Ready', status: 'False' }] } });
  await giveBudget(plane, { minAvailable: 1 });
  expect((await evict(plane, 'a')).code).toBe(201);
  expect((await evict(plane, 'b')).code).toBe(429);
  expect(await statusOf(plane)).not.toHaveProperty('disruptedPods');
});
