import { expect, test } from 'vitest';
import { TestPlane } from '../../controllers/testing.ts';
import { startControlPlane } from '../../plane.ts';
import { LIFECYCLE } from './index.ts';

const API = `/apis/${LIFECYCLE}/namespaces/default`;
const UID = '00000000-0000-4000-8000-000000000001';
const TIME = '2024-01-01T00:00:00Z';

const start = () => TestPlane.serving([LIFECYCLE]);
const pod = { name: 'p', uid: UID };
const spec = { intent: 'Eviction', requester: 'test.example/drain', target: { pod } };
const requestOf = (change: object = {}) => ({
  apiVersion: LIFECYCLE,
  kind: 'EvictionRequest',
  metadata: { name: 'r' },
  spec: { ...spec, ...change },
});

test('the group is discovered with both kinds and their status', async () => {
  await using plane = await start();
  const resources = (await plane.must('GET', `/apis/${LIFECYCLE}`))['resources'] as { name: string; kind: string }[];
  expect(resources.map(({ name, kind }) => `${name} ${kind}`).sort()).toEqual([
    'evictionrequests EvictionRequest',
    'evictionrequests/status EvictionRequest',
    'evictions Eviction',
    'evictions/status Eviction',
  ]);
  const schemas = (await plane.must('GET', `/openapi/v3/apis/${LIFECYCLE}`))['components'] as { schemas: object };
  expect(Object.keys(schemas.schemas)).toEqual(
    expect.arrayContaining([expect.stringMatching(/EvictionRequest$/), expect.stringMatching(/\.Eviction$/)]),
  );
});

test.each([
  ['no requester', { requester: undefined }, 'spec.requester: Required value'],
  ['a requester without a domain', { requester: 'drain' }, 'spec.requester: Invalid value'],
  ['another intent', { intent: 'Delete' }, 'spec.intent: Unsupported value'],
  ['no pod', { target: {} }, 'spec.target.pod: Required value'],
  ['a uid that is none', { target: { pod: { ...pod, uid: 'u' } } }, 'spec.target.pod.uid: Invalid value'],
])('a request with %s is refused', async (_what, change, message) => {
  await using plane = await start();
  const answer = await plane.send('POST', `${API}/evictionrequests`, requestOf(change));
  expect([answer.code, answer.body['message']]).toEqual([422, expect.stringContaining(message)]);
});

test('only the intent of a request can change, and unknown fields are dropped', async () => {
  await using plane = await start();
  const made = await plane.must('POST', `${API}/evictionrequests`, { ...requestOf({ other: 1 }), status: { x: 1 } });
  expect(made['spec']).toEqual(spec);
  expect(made['status']).toBeUndefined();
  const patch = (change: object) =>
    plane.send('PATCH', `${API}/evictionrequests/r`, { spec: change }, 'application/merge-patch+json');
  expect(await patch({ intent: 'Withdrawn' })).toMatchObject({ code: 200, body: { metadata: { generation: 2 } } });
  for (const change of [{ requester: 'test.example/other' }, { target: { pod: { name: 'q' } } }]) {
    expect(await patch(change)).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('field is immutable') },
    });
  }
});

const eviction = { apiVersion: LIFECYCLE, kind: 'Eviction', metadata: { name: 'e' }, spec: { target: { pod } } };
const target = (name: string, state: string) => ({ name, priority: 100, state });
const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'R',
  message: '',
  lastTransitionTime: TIME,
});

test.each<[what: string, change: object, message: RegExp]>([
  ['another list of responders', { targetResponders: [target('a.example/x', 'Active')] }, /same length/],
  [
    'two active responders',
    { targetResponders: [target('a.example/x', 'Active'), target('b.example/y', 'Active')] },
    /at most one responder/,
  ],
  ['a responder that is no target', { responders: [{ name: 'c.example/z' }] }, /must be in targetResponders/],
  [
    'a completion that changes',
    { responders: [{ name: 'a.example/x', completionTime: '2024-01-02T00:00:00Z' }] },
    /immutable/,
  ],
  ['a condition that is reverted', { conditions: [condition('Failed', 'False')] }, /cannot be reverted/],
  ['an older generation', { observedGeneration: 1 }, /cannot decrement/],
])('a status of an Eviction with %s is refused', async (_what, change, message) => {
  await using plane = await start();
  await plane.must('POST', `${API}/evictions`, eviction);
  const status = {
    observedGeneration: 2,
    conditions: [condition('Failed', 'True')],
    requesters: [{ name: 'test.example/drain', intent: 'Eviction' }],
    targetResponders: [target('a.example/x', 'Active'), target('b.example/y', 'Inactive')],
    responders: [{ name: 'a.example/x', startTime: TIME, completionTime: TIME }],
  };
  const write = (next: object) =>
    plane.send('PATCH', `${API}/evictions/e/status`, { status: next }, 'application/merge-patch+json');
  expect(await write(status)).toMatchObject({ code: 200 });
  expect(await write(change)).toMatchObject({ code: 422, body: { message: expect.stringMatching(message) } });
});

test('an unknown alpha API is refused by name', async () => {
  await expect(startControlPlane({ runtimeConfig: ['other.k8s.io/v1alpha1'], controllers: false })).rejects.toThrow(
    'no alpha API is named other.k8s.io/v1alpha1; there is lifecycle.k8s.io/v1alpha1',
  );
});
