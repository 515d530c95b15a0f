import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { settle, TestPlane } from '../testing.ts';

const LIFECYCLE = 'lifecycle.k8s.io/v1alpha1';
const API = `/apis/${LIFECYCLE}/namespaces/default`;
const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const EVICTOR = 'imperative-eviction.k8s.io/evictor';

const start = (...controllers: string[]) => TestPlane.serving([LIFECYCLE], 'evictionrequest', ...controllers);

/** Creates a pod on a node. */
async function pod(plane: TestPlane, name: string, labels = {}): Promise<string> {
  const metadata = { name, labels };
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
  const made = await plane.must('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await plane.patch(`${PODS}/${name}/status`, { status: { phase: 'Running' } });
  return made.metadata.uid ?? '';
}

const end = (plane: TestPlane, name: string) => plane.must('DELETE', `${PODS}/${name}`, { gracePeriodSeconds: 0 });

const request = (plane: TestPlane, name: string, uid: string, requester = 'test.example/drain', podName = 'p') =>
  plane.must('POST', `${API}/evictionrequests`, {
    apiVersion: LIFECYCLE,
    kind: 'EvictionRequest',
    metadata: { name },
    spec: { intent: 'Eviction', requester, target: { pod: { name: podName, uid } } },
  });

const protect = (plane: TestPlane) =>
  plane.must('POST', BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
  });

const trueOf = ({ status }: ApiObject): string[] =>
  ((status ?? {}) as { conditions?: { type: string; status: string; reason: string }[] }).conditions?.flatMap(
    ({ type, status: is, reason }) => (is === 'True' ? [`${type} ${reason}`] : []),
  ) ?? [];

const evictions = (plane: TestPlane) => plane.list(`${API}/evictions`);
const only = async (plane: TestPlane): Promise<ApiObject> => {
  const found = await evictions(plane);
  expect(found).toHaveLength(1);
  return found[0] as ApiObject;
};

test('a request evicts its pod through the default responder, and reports the end of the pod', async () => {
  await using plane = await start();
  const uid = await pod(plane, 'p');
  await request(plane, 'r', uid);
  expect(await only(plane)).toMatchObject({
    metadata: {
      labels: { 'test.example/drain': 'requester', [EVICTOR]: 'responder' },
      ownerReferences: [{ apiVersion: LIFECYCLE, kind: 'EvictionRequest', name: 'r' }],
    },
    spec: { target: { pod: { name: 'p', uid } } },
    status: {
      requesters: [{ name: 'test.example/drain', intent: 'Eviction' }],
      targetResponders: [{ name: EVICTOR, priority: 100, state: 'Active' }],
      responders: [{ name: EVICTOR, message: 'The eviction was accepted' }],
    },
  });
  expect((await plane.must('GET', `${PODS}/p`)).metadata.deletionTimestamp).toBeDefined();
  await end(plane, 'p');
  const ended = await only(plane);
  expect(trueOf(ended)).toEqual(['TargetEvicted PodDeleted']);
  expect(ended['status']).toMatchObject({ targetResponders: [{ state: 'Completed' }] });
  expect(trueOf(await plane.must('GET', `${API}/evictionrequests/r`))).toEqual(['TargetEvicted PodDeleted']);
  expect(plane.errors).toEqual([]);
});

test('the default responder respects disruption budgets, reports the refusal and tries again', async () => {
  await using plane = await start('disruption');
  const uid = await pod(plane, 'p', { app: 'a' });
  await protect(plane);
  await request(plane, 'r', uid);
  await plane.clock.advance(60_000);
  const isDying = async () => (await plane.must('GET', `${PODS}/p`)).metadata.deletionTimestamp !== undefined;
  expect(await isDying()).toBe(false);
  expect((await only(plane))['status']).toMatchObject({
    responders: [{ message: expect.stringContaining("violate the pod's disruption budget") }],
  });
  await plane.must('DELETE', `${BUDGETS}/b`);
  expect(await isDying()).toBe(false);
  await plane.clock.advance(20_000);
  expect(await isDying()).toBe(true);
});

test('an eviction is canceled when its last requester withdraws, and a new intent starts another one', async () => {
  await using plane = await start('disruption');
  const uid = await pod(plane, 'p', { app: 'a' });
  await protect(plane);
  await request(plane, 'r1', uid, 'test.example/one');
  await request(plane, 'r2', uid, 'test.example/two');
  expect((await only(plane)).metadata.labels).toMatchObject({ 'test.example/two': 'requester' });
  await plane.patch(`${API}/evictionrequests/r1`, { spec: { intent: 'Withdrawn' } });
  expect(trueOf(await only(plane))).toEqual([]);
  await plane.must('DELETE', `${API}/evictionrequests/r2`);
  const canceled = await only(plane);
  expect(trueOf(canceled)).toEqual(['Failed CanceledDueToNoRequesters']);
  expect(canceled['status']).toMatchObject({
    requesters: [
      { name: 'test.example/one', intent: 'Withdrawn' },
      { name: 'test.example/two', intent: 'Withdrawn' },
    ],
    targetResponders: [{ state: 'Canceled' }],
  });
  await plane.must('DELETE', `${BUDGETS}/b`);
  await plane.clock.advance(60_000);
  expect((await plane.must('GET', `${PODS}/p`)).metadata.deletionTimestamp).toBeUndefined();
  await plane.patch(`${API}/evictionrequests/r1`, { spec: { intent: 'Eviction' } });
  await settle();
  expect((await evictions(plane)).map(trueOf)).toEqual([['Failed CanceledDueToNoRequesters'], []]);
  expect((await plane.must('GET', `${PODS}/p`)).metadata.deletionTimestamp).toBeDefined();
});

test.each([
  ['another pod of the same name', 'p', '00000000-0000-4000-8000-000000000000'],
  ['a pod that does not exist', 'q', '00000000-0000-4000-8000-000000000000'],
])('a request for %s fails, and evicts nothing', async (_what, name, uid) => {
  await using plane = await start();
  await pod(plane, 'p');
  await request(plane, 'r', uid, 'test.example/drain', name);
  expect(trueOf(await plane.must('GET', `${API}/evictionrequests/r`))).toEqual(['Failed EvictionInvalid']);
  expect(await evictions(plane)).toEqual([]);
  expect((await plane.must('GET', `${PODS}/p`)).metadata.deletionTimestamp).toBeUndefined();
});

test('a pod that ends by itself ends its eviction, and the garbage collector deletes the Eviction with its requests', async () => {
  await using plane = await start('garbage-collector', 'disruption');
  const uid = await pod(plane, 'p', { app: 'a' });
  await protect(plane);
  await request(plane, 'r', uid);
  await plane.patch(`${PODS}/p/status`, { status: { phase: 'Succeeded' } });
  expect(trueOf(await only(plane))).toEqual(['TargetEvicted PodTerminal']);
  await plane.must('DELETE', `${API}/evictionrequests/r`);
  await plane.clock.advance(60_000);
  expect(await evictions(plane)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('an Eviction is created with its owner, so it never outlives a request that is deleted at once', async () => {
  await using plane = await start();
  const uid = await pod(plane, 'p');
  const watch = await plane.fetch(`${API}/evictions?watch=true`);
  await request(plane, 'r', uid);
  const reader = watch.body?.getReader();
  const text = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
    type: 'ADDED',
    object: { metadata: { ownerReferences: [{ kind: 'EvictionRequest', name: 'r' }] } },
  });
});

test('a request that is being deleted counts as withdrawn', async () => {
  await using plane = await start('disruption');
  const uid = await pod(plane, 'p', { app: 'a' });
  await protect(plane);
  await request(plane, 'r', uid);
  await plane.patch(`${API}/evictionrequests/r`, { metadata: { finalizers: ['test.example/hold'] } });
  await plane.must('DELETE', `${API}/evictionrequests/r`);
  const canceled = await only(plane);
  expect(trueOf(canceled)).toEqual(['Failed CanceledDueToNoRequesters']);
  expect(canceled['status']).toMatchObject({ requesters: [{ name: 'test.example/drain', intent: 'Withdrawn' }] });
});

test('an hour after an eviction, nothing is written anymore', async () => {
  await using plane = await start();
  await request(plane, 'r', await pod(plane, 'p'));
  await end(plane, 'p');
  const versions = async () => [
    (await only(plane)).metadata.resourceVersion,
    (await plane.must('GET', `${API}/evictionrequests/r`)).metadata.resourceVersion,
  ];
  const before = await versions();
  await plane.clock.advance(3_600_000);
  expect(await versions()).toEqual(before);
});

test('without the alpha API, the controller does not run, and the group is not served', async () => {
  await using plane = await TestPlane.start('evictionrequest');
  expect((await plane.fetch(`/apis/${LIFECYCLE}`)).status).toBe(404);
  const groups = (await plane.must('GET', '/apis'))['groups'] as { name: string }[];
  expect(groups.map(({ name }) => name)).not.toContain('lifecycle.k8s.io');
});
