import { Annotations, crds, type Machine, machines } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import {
  evictionRequests,
  evictions,
  nodes,
  type Pod,
  type PodEviction,
  podDisruptionBudgets,
  pods,
  seededRandom,
  type Transport,
} from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { previewDrain } from '../drain/preview.ts';
import { type CrashOptions, runWithCrashes } from './testing/crash-runs.ts';
import { NAMESPACE, type Rig, USER_AGENT } from './testing/rig.ts';
import { createRig, type StartOptions } from './testing/start.ts';

const LIFECYCLE = 'lifecycle.k8s.io/v1alpha1';
const REQUESTER = 'machine.sapcloud.io/machine-controller';
const WITH_CONTROLLER = ['evictionrequest', 'garbage-collector'];
const MINUTE = 60_000;

async function started(options: StartOptions = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const { rig, requests } = await createRig({ runtimeConfig: [LIFECYCLE], ...options });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  return { rig, requests };
}

async function budget(rig: Rig, allowed: number): Promise<void> {
  const client = rig.admin.resource(podDisruptionBudgets, NAMESPACE);
  await client.create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await allow(rig, allowed);
}

async function allow(rig: Rig, disruptionsAllowed: number): Promise<void> {
  const healthy = { currentHealthy: 1 + disruptionsAllowed, desiredHealthy: 1, expectedPods: 2 };
  const body = { status: { ...healthy, disruptionsAllowed, observedGeneration: 1 } };
  const client = rig.admin.resource(podDisruptionBudgets, NAMESPACE);
  await client.patch('web', { type: 'merge', body }, { subresource: 'status' });
}

const podsOf = async (rig: Rig): Promise<readonly Pod[]> => (await rig.admin.resource(pods, NAMESPACE).list()).items;
const isLeaving = async (rig: Rig, name: string): Promise<boolean> =>
  (await podsOf(rig)).find(({ metadata }) => metadata.name === name)?.metadata.deletionTimestamp !== undefined;

async function endPods(rig: Rig): Promise<void> {
  for (const { metadata } of await podsOf(rig)) {
    if (metadata.deletionTimestamp)
      await rig.admin.resource(pods, NAMESPACE).delete(metadata.name, { gracePeriodSeconds: 0 });
  }
}

const requestsOf = async (rig: Rig) => (await rig.admin.resource(evictionRequests, NAMESPACE).list()).items;
const evictionsOf = async (rig: Rig) => (await rig.admin.resource(evictions, NAMESPACE).list()).items;
const isGone = (rig: Rig) => async () => (await rig.machines()).length === 0;

const direct = (requests: readonly RequestLogEntry[]): readonly string[] =>
  requests
    .filter(({ path, userAgent }) => path.endsWith('/eviction') && userAgent?.includes(USER_AGENT))
    .map(({ path }) => path.split('/').at(-2) ?? '');

async function respond(rig: Rig, name: string, responder: string, message = ''): Promise<void> {
  const uid = (await podsOf(rig)).find(({ metadata }) => metadata.name === name)?.metadata.uid ?? '';
  const client = rig.admin.resource<PodEviction>(evictions, NAMESPACE);
  const metadata = { name, namespace: NAMESPACE, labels: { [REQUESTER]: 'requester' } };
  await client.create({ metadata, spec: { target: { pod: { name, uid } } } });
  const status = {
    targetResponders: [{ name: responder, priority: 10_000, state: 'Active' }],
    responders: [{ name: responder, message }],
  };
  await client.patch(name, { type: 'merge', body: { status } }, { subresource: 'status' });
}

const fail = (rig: Rig, name: string) =>
  rig.admin.resource(evictions, NAMESPACE).patch(
    name,
    {
      type: 'merge',
      body: {
        status: {
          conditions: [
            {
              type: 'Failed',
              status: 'True',
              reason: 'NoFurtherResponder',
              message: '',
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        },
      },
    },
    { subresource: 'status' },
  );

test('pods are evicted by EvictionRequests, and nothing is left over', async () => {
  const { rig, requests } = await started({ controllers: WITH_CONTROLLER });
  for (const name of ['a', 'b']) await rig.createPod(name, 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await isLeaving(rig, 'a')) && (await isLeaving(rig, 'b')), 1_000);
  const uids = (await podsOf(rig)).map(({ metadata }) => metadata.uid);
  const made = await requestsOf(rig);
  expect(made.map(({ metadata }) => metadata.name).sort()).toEqual(uids.map((uid) => `mcm-${uid}`).sort());
  expect(made[0]).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'Pod' }] },
    spec: { intent: 'Eviction', requester: REQUESTER },
  });
  expect(direct(requests)).toEqual([]);
  await endPods(rig);
  await rig.until(isGone(rig), 1_000);
  await rig.clock.advance(MINUTE);
  expect([await requestsOf(rig), await evictionsOf(rig)]).toEqual([[], []]);
});

test('a pod whose budget allows no disruption is requested too, and the budget is respected', async () => {
  const { rig, requests } = await started({ controllers: WITH_CONTROLLER });
  await budget(rig, 0);
  await rig.createPod('web', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).includes('responder'), 30_000);
  expect(await rig.description('m-0')).toBe(
    'Waiting: pod default/web waits for the eviction responder imperative-eviction.k8s.io/evictor. Initiate node drain',
  );
  await rig.clock.advance(10 * MINUTE);
  expect([await isLeaving(rig, 'web'), direct(requests)]).toEqual([false, []]);
  await allow(rig, 1);
  await rig.until(() => isLeaving(rig, 'web'), 30_000);
  await endPods(rig);
  await rig.until(isGone(rig), 1_000);
});

test('a responder of the application has the time of the drain, then the eviction timeout ends the wait', async () => {
  const { rig, requests } = await started();
  await rig.createPod('db', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await requestsOf(rig)).length === 1, 1_000);
  await respond(rig, 'db', 'app.example/backup', 'backup runs');
  await rig.until(async () => (await rig.description('m-0')).includes('app.example/backup'), 30_000);
  const machine = await rig.machine('m-0');
  if (!machine) throw new Error('the machine must exist');
  const runtime = { clock: rig.clock, random: seededRandom(1), log: rig.log };
  const preview = await previewDrain({ target: rig.admin, machine, runtime, signal: new AbortController().signal });
  expect(preview?.blockers).toMatchObject([
    {
      text: 'pod default/db waits for the eviction responder app.example/backup',
      hint: 'the responder reports: backup runs',
    },
  ]);
  await rig.clock.advance(110 * MINUTE);
  expect([await isLeaving(rig, 'db'), direct(requests)]).toEqual([false, []]);
  await rig.until(async () => (await podsOf(rig)).length === 0, 15 * MINUTE);
  await rig.until(isGone(rig), MINUTE);
});

test.each<[what: string, options: StartOptions]>([
  ['without the API', { runtimeConfig: [] }],
  ['with --eviction-requests=false', { controllers: WITH_CONTROLLER, controller: { evictionRequests: false } }],
])('%s, pods are evicted at once', async (_what, options) => {
  const { rig, requests } = await started(options);
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(() => isLeaving(rig, 'a'), 1_000);
  expect(direct(requests)).toEqual(['a']);
  expect((await rig.machine('m-0'))?.metadata.annotations?.[Annotations.EvictionRequests]).toBeUndefined();
});

test.each([403, 404, 405, 422, 500])(
  'if the API server answers %i to a request, the pod is evicted at once',
  async (code) => {
    const refused = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no' };
    const wrap =
      (transport: Transport): Transport =>
      async (request) =>
        request.method === 'POST' && request.path.endsWith('/evictionrequests')
          ? Response.json(refused, { status: code })
          : transport(request);
    const { rig, requests } = await started({ controllers: WITH_CONTROLLER, wrap });
    await rig.createPod('a', 'm-0');
    await rig.deleteMachine('m-0');
    await rig.until(() => isLeaving(rig, 'a'), 1_000);
    expect(direct(requests)).toEqual(['a']);
  },
);

test.each<[what: string, wrap?: StartOptions['wrap']]>([
  ['no controller handles the requests'],
  [
    'the Evictions cannot be read',
    (transport) => async (request) =>
      request.method === 'GET' && request.path.includes('/evictions?')
        ? Response.json({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }, { status: 403 })
        : transport(request),
  ],
])('if %s, the pods are evicted after 30 seconds', async (_what, wrap) => {
  const { rig, requests } = await started(wrap ? { wrap } : {});
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await requestsOf(rig)).length === 1, 1_000);
  await rig.clock.advance(29_000);
  expect(direct(requests)).toEqual([]);
  await rig.until(() => isLeaving(rig, 'a'), 2_000);
  expect(direct(requests)).toEqual(['a']);
  await endPods(rig);
  await rig.until(isGone(rig), 1_000);
});

test('if an Eviction fails, the drain evicts the pod', async () => {
  const { rig, requests } = await started();
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await requestsOf(rig)).length === 1, 1_000);
  await respond(rig, 'a', 'app.example/backup');
  await rig.clock.advance(5 * MINUTE);
  expect(direct(requests)).toEqual([]);
  await fail(rig, 'a');
  await rig.until(() => isLeaving(rig, 'a'), 21_000);
  expect(direct(requests)).toEqual(['a']);
});

test.each([429, 500, 503])(
  'a response %i to the list of Evictions does not evict a pod with a responder',
  async (code) => {
    let failures = 0;
    const wrap =
      (transport: Transport): Transport =>
      async (request) => {
        if (request.method !== 'GET' || !request.path.includes('/evictions?') || failures === 0)
          return transport(request);
        failures--;
        return Response.json({ kind: 'Status', code, message: 'busy' }, { status: code });
      };
    const { rig, requests } = await started({ wrap });
    await rig.createPod('a', 'm-0');
    await rig.deleteMachine('m-0');
    await rig.until(async () => (await requestsOf(rig)).length === 1, 1_000);
    await respond(rig, 'a', 'app.example/backup');
    await rig.clock.advance(MINUTE);
    failures = 1;
    await rig.until(async () => failures === 0, MINUTE);
    await rig.clock.advance(5 * MINUTE);
    expect([direct(requests), await isLeaving(rig, 'a')]).toEqual([[], false]);
  },
);

async function preserve(rig: Rig): Promise<void> {
  // The Node responds, so the drain is not forced.
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  await rig.conditions('m-0', [
    { type: 'Ready', status: 'True', lastTransitionTime },
    { type: 'KernelDeadlock', status: 'True', lastTransitionTime },
  ]);
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  const annotations = { [Annotations.Preserve]: 'now' };
  await client.patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed');
}

test('the end of a preservation withdraws its requests, and the pods stay', async () => {
  const { rig } = await started({ controllers: WITH_CONTROLLER });
  await budget(rig, 0);
  await rig.createPod('web', 'm-0', { app: 'web' });
  await preserve(rig);
  await rig.until(async () => (await requestsOf(rig)).length === 1, 5 * MINUTE);
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  const annotations = { [Annotations.Preserve]: 'false' };
  await client.patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
  await rig.until(async () => (await requestsOf(rig)).length === 0, 5_000);
  await rig.until(
    async () => (await rig.machine('m-0'))?.metadata.annotations?.[Annotations.EvictionRequests] === undefined,
    1_000,
  );
  await allow(rig, 1);
  await rig.clock.advance(10 * MINUTE);
  expect(await isLeaving(rig, 'web')).toBe(false);
});

test('another process withdraws the requests of a drain that ended while no process was running', async () => {
  const { rig } = await started({ controllers: WITH_CONTROLLER });
  await budget(rig, 0);
  await rig.createPod('web', 'm-0', { app: 'web' });
  await preserve(rig);
  await rig.until(async () => (await requestsOf(rig)).length === 1, 5 * MINUTE);
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  const annotations = { [Annotations.Preserve]: 'false' };
  await client.patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
  rig.start();
  await rig.until(async () => (await requestsOf(rig)).length === 0, MINUTE);
});

test('undrainable policy Quarantine: after the timeout the requests are withdrawn, and a changed budget evicts the pod', async () => {
  const { rig, requests } = await started({ controllers: WITH_CONTROLLER });
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  const annotations = { [Annotations.UndrainablePolicy]: 'Quarantine' };
  await client.patch('m-0', { type: 'merge', body: { metadata: { annotations }, spec: { drainTimeout: '10m' } } });
  await budget(rig, 0);
  await rig.createPod('web', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await requestsOf(rig)).length === 1, 1_000);
  await rig.clock.advance(9 * MINUTE);
  expect(await requestsOf(rig)).toHaveLength(1);
  await rig.until(async () => (await requestsOf(rig)).length === 0, 2 * MINUTE);
  await rig.clock.advance(MINUTE);
  expect(direct(requests)).toEqual([]);
  // The new process has no record that the pod has an EvictionRequest.
  await rig.kill();
  rig.start();
  await rig.clock.advance(MINUTE);
  await allow(rig, 1);
  await rig.until(() => isLeaving(rig, 'web'), 1_000);
  expect(direct(requests)).toEqual(['web']);
  expect(await requestsOf(rig)).toEqual([]);
});

test('undrainable policy Hold: the requests stay after the timeout, because the drain continues', async () => {
  const { rig } = await started({ controllers: WITH_CONTROLLER });
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  const annotations = { [Annotations.UndrainablePolicy]: 'Hold' };
  await client.patch('m-0', { type: 'merge', body: { metadata: { annotations }, spec: { drainTimeout: '10m' } } });
  await budget(rig, 0);
  await rig.createPod('web', 'm-0', { app: 'web' });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(30 * MINUTE);
  expect([(await requestsOf(rig)).length, await isLeaving(rig, 'web')]).toEqual([1, false]);
  await allow(rig, 1);
  await rig.until(() => isLeaving(rig, 'web'), 30_000);
});

test('killed at every write of a drain, before the request and before its answer: each pod has one request, and none is left', async () => {
  let requests: RequestLogEntry[] = [];
  const open: CrashOptions['open'] = (clock) => {
    requests = [];
    const requestLog = (entry: RequestLogEntry) => requests.push(entry);
    return startControlPlane({ clock, crds, controllers: WITH_CONTROLLER, runtimeConfig: [LIFECYCLE], requestLog });
  };
  const live = (deaths: readonly number[]) =>
    runWithCrashes(deaths, { open, joinAfterMs: 0, controller: {} }, async ({ rig, settled }) => {
      await rig.createMachine('m-0');
      await settled(async () => (await rig.phase('m-0')) === 'Running');
      for (const name of ['a', 'b']) await rig.createPod(name, 'm-0');
      await rig.deleteMachine('m-0');
      await settled(async () => (await isLeaving(rig, 'a')) && (await isLeaving(rig, 'b')));
      expect([(await requestsOf(rig)).length, direct(requests)]).toEqual([2, []]);
      expect(await evictionsOf(rig)).toHaveLength(2);
      await endPods(rig);
      await settled(isGone(rig));
      await rig.clock.advance(MINUTE);
      expect([await requestsOf(rig), await evictionsOf(rig), await rig.admin.resource(nodes).list()]).toMatchObject([
        [],
        [],
        { items: [] },
      ]);
    });
  const { points } = await live([]);
  expect(points).toBeGreaterThan(20);
  for (let at = 0; at < points; at += thoroughly(2, 8, 1)) expect((await live([at])).crashes).toBe(1);
}, 300_000);
