import { Labels, type Machine, machines } from '@mcm/api';
import { events, nodes, podDisruptionBudgets, pods, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { controllerIdOf } from '../driver/testing.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const started = (options: StartOptions = {}): Promise<Rig> => startRig({ eventTtlMs: 0, ...options });

const reported = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'OrphanVM')
    .map(({ message = '' }) => message);

async function abandoned(options: StartOptions = {}): Promise<Rig> {
  const rig = await started(options);
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web', 'm-0', { app: 'web' });
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete('m-0');
  return rig;
}

const pod = (rig: Rig) => rig.admin.resource(pods, NAMESPACE).get('web');
const isLeaving = async (rig: Rig): Promise<boolean> => (await pod(rig)).metadata.deletionTimestamp !== undefined;
const endPod = (rig: Rig) => rig.admin.resource(pods, NAMESPACE).delete('web', { gracePeriodSeconds: 0 });

test.each([{ onDemand: false }, { onDemand: true }])(
  'a VM whose machine was removed while its Node is Ready is drained before it is deleted: %o',
  async (controller) => {
    const rig = await abandoned({ controller });
    rig.start();
    await rig.until(() => isLeaving(rig), 2 * HOUR);
    const node = await rig.admin.resource(nodes).get('m-0');
    expect(node.spec.unschedulable).toBe(true);
    expect(node.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Terminating', status: 'True' }));
    await rig.clock.advance(5 * MINUTE);
    expect(rig.cloud.vms).toHaveLength(1);
    await endPod(rig);
    await rig.until(async () => rig.cloud.vms.length === 0, 5 * MINUTE);
    await rig.clock.advance(2_000);
    expect(await reported(rig)).toEqual([
      expect.stringMatching(/ is an orphan: .*; mcm drains and then deletes the VM: its Node m-0 is Ready$/),
    ]);
  },
);

test.each([false, true])(
  'a machine that takes back a VM during its drain makes the Node schedulable again (with its provider ID: %s)',
  async (named) => {
    const rig = await abandoned();
    rig.start();
    await rig.until(() => isLeaving(rig), 2 * HOUR);
    const [vm] = rig.cloud.vms;
    await rig.createMachine('m-0', named ? { providerID: vm?.providerId ?? '' } : {});
    await rig.until(async () => (await rig.phase('m-0')) === 'Running', 5 * MINUTE);
    const node = await rig.admin.resource(nodes).get('m-0');
    expect([node.spec.unschedulable, node.status?.conditions?.map(({ type }) => type)]).toEqual([undefined, ['Ready']]);
    await rig.clock.advance(3 * HOUR);
    expect([rig.cloud.vms, (await rig.admin.resource(nodes).get('m-0')).spec.unschedulable]).toEqual([[vm], undefined]);
  },
);

test('a machine that takes back a VM keeps the cordon of a user', async () => {
  const rig = await abandoned();
  await rig.admin.resource(nodes).patch('m-0', { type: 'merge', body: { spec: { unschedulable: true } } });
  await rig.createMachine('m-0');
  rig.start();
  await rig.until(async () => (await rig.phase('m-0')) === 'Running', 5 * MINUTE);
  await rig.clock.advance(HOUR);
  expect((await rig.admin.resource(nodes).get('m-0')).spec.unschedulable).toBe(true);
});

/** Delays the first request whose method, path and body match, until `release` is called. */
function delaying(path: RegExp, words: string) {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const { method, body } = request;
      const matches = method === 'PATCH' && path.test(request.path) && typeof body === 'string' && body.includes(words);
      if (!matches || isHeld) return transport(request);
      isHeld = true;
      await gate.promise;
      return transport(request);
    };
  return { wrap, held: async () => isHeld, release: () => gate.resolve() };
}

test.each([
  ['the cordon', /nodes\/m-0(\?|$)/, '"unschedulable":true'],
  ['the condition of the cordon', /nodes\/m-0\/status/, 'Terminating'],
])('%s that arrives after a machine took back the VM does not last', async (_what, path, words) => {
  const { wrap, held, release } = delaying(path, words);
  const rig = await abandoned({ wrap });
  rig.start();
  await rig.until(held, 2 * HOUR);
  const [vm] = rig.cloud.vms;
  await rig.createMachine('m-0', { providerID: vm?.providerId ?? '' });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running', 5 * MINUTE);
  release();
  await rig.clock.advance(HOUR);
  const node = await rig.admin.resource(nodes).get('m-0');
  expect([node.spec.unschedulable, node.status?.conditions?.map(({ type }) => type)]).toEqual([undefined, ['Ready']]);
  expect([rig.cloud.vms, await isLeaving(rig)]).toEqual([[vm], false]);
});

test('a budget delays the drain of an orphan VM until the drain timeout, and a restart does not restart that time', async () => {
  const rig = await abandoned();
  await rig.admin.resource(podDisruptionBudgets, NAMESPACE).create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  const status = {
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
  };
  await rig.admin
    .resource(podDisruptionBudgets, NAMESPACE)
    .patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
  rig.start();
  await rig.until(async () => (await rig.admin.resource(nodes).get('m-0')).spec.unschedulable === true, HOUR);
  await rig.clock.advance(HOUR);
  await rig.kill();
  rig.start();
  await rig.clock.advance(50 * MINUTE);
  expect([await isLeaving(rig), rig.cloud.vms.length]).toEqual([false, 1]);
  await rig.until(async () => rig.cloud.vms.length === 0, 30 * MINUTE);
  expect(await rig.podNames()).toEqual([]);
});

test('a second VM of a machine is drained before it is deleted when a Node has joined from it', async () => {
  const rig = await started({ cloud: { nodeName: (machine) => `ip-${machine}.internal` } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const [own] = rig.cloud.vms;
  const second = rig.cloud.plant('m-0', rig.clock.now().toISOString());
  await rig.join({ ...second, nodeName: 'ip-second.internal' });
  await rig.createPod('web', 'ip-second.internal');
  await rig.until(() => isLeaving(rig), 2 * HOUR);
  await rig.clock.advance(5 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(2);
  await endPod(rig);
  await rig.until(async () => rig.cloud.vms.length === 1, 5 * MINUTE);
  expect(rig.cloud.vms).toEqual([own]);
  expect((await rig.admin.resource(nodes).get('ip-m-0.internal')).spec.unschedulable).toBeUndefined();
  expect(await rig.phase('m-0')).toBe('Running');
});

test('a renamed VM is no orphan while a machine has it on record', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0', { creationTimeout: '10h' });
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  const [own] = rig.cloud.vms;
  rig.cloud.plant('renamed', own?.createdAt, own?.providerId);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['renamed']);
  expect(await reported(rig)).toEqual([]);
});

test('with --orphan-policy=report, mcm neither drains nor deletes an orphan', async () => {
  const rig = await abandoned({ controller: { orphans: { ...ORPHAN_DEFAULTS, policy: 'report' } } });
  rig.start();
  await rig.clock.advance(3 * HOUR);
  expect([await isLeaving(rig), rig.cloud.vms.length]).toEqual([false, 1]);
  expect((await rig.admin.resource(nodes).get('m-0')).spec.unschedulable).toBeUndefined();
});

function silencing(path: string, options: { readonly emptyFirst: boolean }) {
  let silent = false;
  let lists = 0;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (!silent || !request.path.startsWith(path)) return transport(request);
      const { signal } = request;
      if (request.path.includes('watch='))
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      if (!options.emptyFirst || lists++ > 0) return transport(request);
      return new Response('{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}');
    };
  return {
    wrap,
    begin: () => {
      silent = true;
    },
  };
}

test('a Ready Node that the cache does not have keeps its VM: mcm reads it from the server before the deletion', async () => {
  const { wrap, begin } = silencing('/api/v1/nodes?', { emptyFirst: true });
  const rig = await abandoned({ wrap });
  begin();
  rig.start();
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  expect(await reported(rig)).toEqual([
    expect.stringMatching(/mcm drains and then deletes the VM: its Node m-0 is Ready/),
  ]);
});

test('a machine of another name that has the VM on record keeps it, even if the cache does not have the machine', async () => {
  const { wrap, begin } = silencing('/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines?', {
    emptyFirst: false,
  });
  const rig = await started({ wrap, joinAfterMs: undefined });
  await rig.kill();
  const vm = rig.cloud.plant('renamed', rig.clock.now().toISOString());
  begin();
  rig.start();
  await rig.clock.advance(MINUTE);
  await rig.createMachine('m-0', { providerID: vm.providerId });
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toEqual([vm]);
});

test('a VM is kept as long as the server does not list the Nodes', async () => {
  let away = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) =>
      away && request.path.startsWith('/api/v1/nodes?') && !request.path.includes('watch=')
        ? new Response('', { status: 503 })
        : transport(request);
  const rig = await started({ wrap });
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  away = true;
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  away = false;
  await rig.until(async () => rig.cloud.vms.length === 0, HOUR);
});

test('a Node without a provider ID keeps the VM of its machine whose ID was edited', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  await rig.admin
    .resource(nodes)
    .create({ metadata: { name: 'm-0', labels: { [Labels.MachineName]: 'm-0' } }, spec: {} });
  await rig.conditions('m-0', [{ type: 'Ready', status: 'True' }]);
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const body = { spec: { providerID: 'fake:///zone/edited' } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  expect(await reported(rig)).toEqual([expect.stringMatching(/mcm keeps the VM because its Node m-0 is Ready/)]);
});

test('the Nodes of the fake cloud have ids of a cloud controller, not of the driver', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const [vm] = rig.cloud.vms;
  const [node] = await rig.nodes();
  expect(node?.spec.providerID).toBe(controllerIdOf(vm?.providerId ?? ''));
  expect(node?.spec.providerID).not.toBe(vm?.providerId);
});
