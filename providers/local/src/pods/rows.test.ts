import type { Machine, MachineClass } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createInvoker, MachineError } from '@mcm/core/driver';
import { type Pod, pods, type Secret, secrets, silentLogger, type Transport, VirtualClock } from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { createLocalDriver } from '../driver/driver.ts';
import { type PodRig, type PodRigOptions, podRig } from '../testing/pod-rig.ts';

/** The scenarios of the local provider. The cluster runs in the process of the test. */

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

const NAMESPACE = 'shoot';
const PODS = 'infra';
const USER_DATA = '#!/bin/sh\necho hello';
const SPEC = { image: 'registry/node:v1', namespace: PODS, ipPoolNameV4: 'pool-v4' };

const meta = (name: string) => ({
  name,
  namespace: NAMESPACE,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const machine = (name = 'm-1', providerID?: string): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: meta(name),
  spec: { class: { kind: 'MachineClass', name: 'pool' }, ...(providerID ? { providerID } : {}) },
});

interface Change {
  readonly provider?: string;
  readonly spec?: object;
  readonly secret?: Readonly<Record<string, string | undefined>>;
  readonly wrap?: ((transport: Transport) => Transport) | undefined;
}

async function started(options: Pick<PodRigOptions, 'runs'> = {}) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: ['garbagecollector'] });
  const rig = podRig({ clock, plane, ...options });
  for (const name of [PODS, NAMESPACE, 'elsewhere'])
    await rig.admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  cleanUp.push(() => plane.close());
  return { rig, calls: (change: Change = {}) => callsOf(rig, change) };
}

/** Calls the methods of the driver as the controller does. */
function callsOf(rig: PodRig, { provider = 'local', spec = SPEC, secret = {}, wrap }: Change) {
  const filled = Object.entries({ userData: USER_DATA, kubeconfig: rig.kubeconfig, ...secret }).flatMap(
    ([key, value]) => (value === undefined ? [] : [[key, Buffer.from(value).toString('base64')]]),
  );
  const stored: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: meta('pool'),
    data: Object.fromEntries(filled),
  };
  const machineClass: MachineClass = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata: meta('pool'),
    provider,
    providerSpec: { ...spec },
    secretRef: { name: 'pool', namespace: NAMESPACE },
    credentialsSecretRef: { name: 'pool', namespace: NAMESPACE },
  };
  const invoker = createInvoker({
    driver: rig.driver(wrap ?? ((below) => below)),
    caches: { classes: { store: { get: () => machineClass } }, secrets: { store: { get: () => stored } } },
    clock: rig.clock,
    log: silentLogger,
    stop: new AbortController().signal,
  });
  const ending = async <T>(call: Promise<T>): Promise<T | MachineError> => {
    let over = false;
    const ended = call
      .catch((thrown: unknown) => MachineError.from(thrown))
      .finally(() => {
        over = true;
      });
    await rig.clock.runUntil(() => over, { maxMs: 3_600_000 });
    return ended;
  };
  return {
    invoker,
    machineClass,
    create: (of = machine(), reported: string[] = []) =>
      ending(
        invoker.create(
          of,
          async (userData) => userData,
          undefined,
          (what) => reported.push(what),
        ),
      ),
    status: (of = machine()) => ending(invoker.status(of)),
    delete: (of = machine()) => ending(invoker.delete(of)),
    list: () => ending(invoker.list(machineClass)),
  };
}

const METHODS = ['create', 'delete', 'status', 'list'] as const;

const answering =
  (match: RegExp, code: number): Change['wrap'] =>
  (below) =>
  async (request) => {
    if (!match.test(`${request.method} ${request.path}`)) return below(request);
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'etcd is on fire', code };
    const text = JSON.stringify(status);
    return { status: code, headers: new Headers(), text: async () => text, body: null };
  };

test.each(METHODS)('%s refuses a class of the provider aws with InvalidArgument [P1]', async (method) => {
  const { calls } = await started();
  expect(await calls({ provider: 'aws' })[method]()).toMatchObject({ code: 'InvalidArgument' });
});

test.each(METHODS)('%s refuses a class without an image with Internal [P2]', async (method) => {
  const { rig, calls } = await started();
  expect(await calls({ spec: { namespace: PODS } })[method]()).toMatchObject({
    code: 'Internal',
    message: 'error while validating ProviderSpec providerSpec.image: Required value: image is required',
  });
  expect(rig.requests).toEqual([]);
});

test.each(METHODS)(
  '%s refuses a Secret without userData with Internal, and accepts an empty value [P3]',
  async (method) => {
    const { calls } = await started();
    expect(await calls({ secret: { userData: undefined } })[method]()).toMatchObject({
      code: 'Internal',
      message: 'error while validating ProviderSpec secretRef.userData: Required value: userData is required',
    });
    expect(calls({ secret: { userData: '' } }).invoker.check(calls().machineClass)).toEqual([]);
  },
);

test('create applies Pod, Secret and Service, and returns the name and the addresses of the Pod [P4]', async () => {
  const { rig, calls } = await started();
  expect(await calls().create()).toEqual({
    providerId: 'machine-m-1',
    nodeName: 'machine-m-1',
    addresses: [
      { type: 'InternalIP', address: '10.0.0.7' },
      { type: 'InternalIP', address: 'fd00::7' },
    ],
  });
  expect(rig.requests).toEqual([
    'PATCH /api/v1/namespaces/infra/pods/machine-m-1',
    'PATCH /api/v1/namespaces/infra/secrets/machine-m-1-userdata',
    'PATCH /api/v1/namespaces/infra/services/machine-m-1',
    'GET /api/v1/namespaces/infra/pods/machine-m-1',
  ]);
  const pod = await rig.admin.resource(pods, PODS).get('machine-m-1');
  const labels = { 'machine-provider': 'local', app: 'machine', machine: 'm-1' };
  expect(pod.metadata).toMatchObject({ labels, annotations: { 'cni.projectcalico.org/ipv4pools': '["pool-v4"]' } });
  expect(pod.metadata.ownerReferences).toBeUndefined();
  expect(pod.spec).toMatchObject({
    dnsPolicy: 'Default',
    containers: [
      {
        name: 'node',
        image: 'registry/node:v1',
        imagePullPolicy: 'IfNotPresent',
        securityContext: { privileged: true },
      },
    ],
  });
  const secret = await rig.admin.resource(secrets, PODS).get('machine-m-1-userdata');
  expect(Buffer.from(secret.data?.userdata ?? '', 'base64').toString()).toBe(USER_DATA);
  const owner = { kind: 'Pod', name: 'machine-m-1', uid: pod.metadata.uid, controller: true, blockOwnerDeletion: true };
  expect(secret.metadata.ownerReferences).toMatchObject([owner]);
  expect(await rig.admin.request('GET', '/api/v1/namespaces/infra/services/machine-m-1')).toMatchObject({
    metadata: { labels, ownerReferences: [owner] },
    spec: { clusterIP: 'None', selector: labels, publishNotReadyAddresses: true, ports: [{ name: 'ssh', port: 22 }] },
  });
});

test('create fails with DeadlineExceeded if the Pod is Pending for ten minutes, and keeps the objects [P7]', async () => {
  const { rig, calls } = await started({ runs: false });
  const since = rig.clock.now().getTime();
  expect(await calls().create()).toMatchObject({
    code: 'DeadlineExceeded',
    message: expect.stringContaining('Pending'),
  });
  expect(rig.clock.now().getTime() - since).toBe(600_000);
  expect((await rig.admin.resource(pods, PODS).list()).items).toHaveLength(1);
});

test.each<[string, Pod['status'], string]>([
  [
    'the image is not there',
    {
      phase: 'Pending',
      containerStatuses: [
        { name: 'node', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
      ],
    },
    'Pending: ImagePullBackOff: no such image',
  ],
  [
    'no node has room',
    {
      phase: 'Pending',
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
      ],
    } as Pod['status'],
    'Pending: Unschedulable: 0/1 nodes are available',
  ],
  ['nobody says', {}, 'Pending'],
])('a Pod that does not run, %s: the creation reports what it waits for, and why it ended', async (_, status, why) => {
  const { rig, calls } = await started({ runs: false });
  const reported: string[] = [];
  const creation = calls().create(machine(), reported);
  const client = rig.admin.resource(pods, PODS);
  await rig.clock.runUntil(async () => (await client.list()).items.length > 0, { maxMs: 60_000 });
  if (Object.keys(status ?? {}).length > 0)
    await client.patch('machine-m-1', { type: 'merge', body: { status } }, { subresource: 'status' });
  expect(await creation).toMatchObject({
    code: 'DeadlineExceeded',
    message: `pod machine-m-1 is not running after ten minutes: the pod is ${why}`,
  });
  // The driver reports a waiting pod after 15 seconds, and then once per minute.
  expect(reported).toEqual(Array.from({ length: 10 }, () => `pod machine-m-1 in namespace infra is ${why}`));
});

test.each([
  ['without key', undefined, /data\.kubeconfig: is missing; add the kubeconfig/],
  ['no YAML', '{', /data\.kubeconfig: is not YAML/],
  ['no kubeconfig', 'a: 1', /is not a kubeconfig; check current-context, contexts, clusters/],
])(
  'a kubeconfig %s is an error of each method, and is retried after minutes [P10]',
  async (_what, kubeconfig, says) => {
    const { rig } = await started();
    const driver = createLocalDriver({ clock: rig.clock, connect: () => Promise.reject, backend: 'pod' } as never);
    const data = { userData: '', ...(kubeconfig === undefined ? {} : { kubeconfig }) };
    const { machineClass } = callsOf(rig, {});
    for (const call of METHODS) {
      expect(() => driver.decode?.({ call, machineClass, data })).toThrow(says);
      expect(() => driver.decode?.({ call, machineClass, data })).toThrow(
        expect.objectContaining({ code: 'InvalidArgument' }),
      );
    }
  },
);

test.each([
  ['exec', 'exec: {command: rm}'],
  ['tokenFile', 'tokenFile: /etc/passwd'],
  ['client-certificate', 'client-certificate: /etc/passwd'],
])('a kubeconfig in a Secret runs no program and reads no file: %s', async (key, user) => {
  const { rig, calls } = await started();
  const kubeconfig = [
    'current-context: c',
    'contexts: [{name: c, context: {cluster: c, user: u}}]',
    'clusters: [{name: c, cluster: {server: "https://127.0.0.1"}}]',
    `users: [{name: u, user: {${user}}}]`,
  ].join('\n');
  expect(await calls({ secret: { kubeconfig } }).status()).toMatchObject({
    code: 'InvalidArgument',
    message: expect.stringContaining(`must not contain ${key}`),
  });
  expect(rig.requests).toEqual([]);
});

test('status of a missing Pod is NotFound, and an error of the API is Internal [P12]', async () => {
  const { calls } = await started();
  expect(await calls().status()).toMatchObject({ code: 'NotFound' });
  expect(await calls({ wrap: answering(/^GET/, 500) }).status()).toMatchObject({ code: 'Internal' });
});

/** Adds a finalizer to a Pod. */
const holdBack = (rig: PodRig, finalizers: readonly string[]): Promise<Pod> =>
  rig.admin.resource(pods, PODS).patch('machine-m-1', { type: 'merge', body: { metadata: { finalizers } } });

test('delete succeeds when the Pod is gone at the third read, and deletes its objects [P13]', async () => {
  const { rig, calls } = await started();
  await calls().create();
  await holdBack(rig, ['example.com/slow']);
  const since = rig.clock.now().getTime();
  rig.requests.length = 0;
  rig.clock.setTimeout(() => void holdBack(rig, []), 12_000);
  expect(await calls().delete()).toBeUndefined();
  expect(rig.clock.now().getTime() - since).toBe(15_000);
  expect(rig.requests.map((each) => each.split(' ')[0])).toEqual(['DELETE', 'GET', 'GET', 'GET']);
  await rig.clock.advance(60_000);
  const left = await rig.admin.resource(secrets, PODS).list({ labelSelector: 'machine=m-1' });
  expect(left.items).toEqual([]);
});

test('delete of a missing Pod is NotFound [P14]', async () => {
  const { calls } = await started();
  expect(await calls().delete()).toMatchObject({ code: 'NotFound' });
});

test('delete reports an error of the API as Unknown [P15]', async () => {
  const { calls } = await started();
  await calls().create();
  expect(await calls({ wrap: answering(/^DELETE/, 500) }).delete()).toMatchObject({ code: 'Unknown' });
});

test('delete of a Pod that is stuck for ten minutes fails with DeadlineExceeded [P16]', async () => {
  const { rig, calls } = await started();
  await calls().create();
  await holdBack(rig, ['example.com/stuck']);
  const since = rig.clock.now().getTime();
  expect(await calls().delete()).toMatchObject({ code: 'DeadlineExceeded' });
  expect(rig.clock.now().getTime() - since).toBe(600_000);
});

test('list without a namespace in the spec returns machines in the namespace of the class, and none of other clusters [P19]', async () => {
  const { rig, calls } = await started();
  await calls({ spec: { image: 'x' } }).create(machine('mine'));
  await calls({ spec: { image: 'x', namespace: 'elsewhere' } }).create(machine('theirs'));
  expect(await calls({ spec: { image: 'x' } }).list()).toEqual([
    { providerId: 'machine-mine', machineName: 'mine', createdAt: expect.any(String) },
  ]);
  expect(rig.requests.at(-1)).toBe('GET /api/v1/namespaces/shoot/pods');
});

test('an empty namespace, pool or apiVersion counts as absent', async () => {
  const { rig, calls } = await started();
  const empty = { image: 'x', namespace: '', ipPoolNameV4: '', ipPoolNameV6: '', apiVersion: '' };
  await calls({ spec: { image: 'x' } }).create(machine('without'));
  await calls({ spec: empty }).create(machine('empty'));
  const [without, withEmpty] = await Promise.all(
    ['without', 'empty'].map((name) => rig.admin.resource(pods, NAMESPACE).get(`machine-${name}`)),
  );
  expect(withEmpty?.metadata.annotations).toEqual(without?.metadata.annotations);
  expect(Object.keys(without?.metadata.annotations ?? {}).filter((key) => key.includes('calico'))).toEqual([]);
});

test('the driver returns no volume IDs for any PersistentVolume [P20]', async () => {
  const { rig } = await started();
  const driver = createLocalDriver({ clock: rig.clock, connect: () => Promise.reject, backend: 'pod' } as never);
  const sources = [{ csi: { driver: 'd', volumeHandle: 'v' } }, { hostPath: { path: '/x' } }];
  expect(driver.volumeIds?.(sources)).toEqual([undefined, undefined]);
});

test('a Pod without its Secret does not count as a machine: it is created again and gets the missing objects', async () => {
  const { rig, calls } = await started();
  expect(await calls({ wrap: answering(/^PATCH .*secrets/, 500) }).create()).toMatchObject({ code: 'Internal' });
  expect(await calls().status()).toMatchObject({ code: 'NotFound', message: expect.stringContaining('not complete') });
  const [before] = (await rig.admin.resource(pods, PODS).list()).items;
  expect(await calls().create()).toMatchObject({ providerId: 'machine-m-1' });
  expect(await calls().status()).toMatchObject({ providerId: 'machine-m-1' });
  const after = (await rig.admin.resource(pods, PODS).list()).items;
  expect(after.map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
});

test('a machine whose name is invalid for a Service is refused before anything is created', async () => {
  const { rig, calls } = await started();
  for (const name of ['a.b', 'x'.repeat(60)])
    expect(await calls().create(machine(name))).toMatchObject({
      code: 'InvalidArgument',
      message: expect.stringContaining('must be a DNS label of at most 63 characters'),
    });
  expect(rig.requests).toEqual([]);
});
