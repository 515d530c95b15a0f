import { gzipSync } from 'node:zlib';
import { crds, machineClasses } from '@mcm/api';
import { type RequestLogEntry, startControlPlane } from '@mcm/control-plane';
import { type EventObject, events, handlerTransport, nodes, pods, secrets, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { delayedWatch } from '../testing/delayed-watch.ts';
import { NAMESPACE, Rig, type RigOptions, USER_AGENT } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

async function rig(options: Partial<RigOptions> = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  const { rig: made, requests } = await createRig(options);
  return { rig: made, requests };
}

const verb = (entry: RequestLogEntry): string => `${entry.method} ${entry.path}`;
const mine = (requests: readonly RequestLogEntry[]): readonly RequestLogEntry[] =>
  requests.filter((entry) => entry.userAgent?.includes(USER_AGENT));
const writes = (requests: readonly RequestLogEntry[]): string[] =>
  mine(requests)
    .filter((entry) => entry.method !== 'GET')
    .map(verb);

test('a machine is created with three writes of its own and one of its node, without a read', async () => {
  const { rig: r, requests } = await rig();
  await r.createClass();
  r.start();
  await r.until(
    async () => (r.controller?.caches.machines.synced ?? false) && r.controller?.caches.classes.synced === true,
  );
  await r.until(async () => (r.controller?.caches.classes.store.size ?? 0) > 0);
  requests.length = 0;
  await r.createMachine('m-1');
  await r.until(async () => (await r.phase('m-1')) === 'Running');
  await r.clock.advance(10_000);
  const made = writes(requests).filter((line) => line.includes('m-1'));
  expect(made).toEqual([
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1',
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1/status',
    'PATCH /api/v1/nodes/m-1',
    'PATCH /apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1/status',
  ]);
  const m = await r.machine('m-1');
  expect(m?.spec.providerID).toBe(r.cloud.vms[0]?.providerId);
  expect(m?.metadata.labels?.node).toBe('m-1');
  expect(m?.status?.lastOperation?.description).toMatch(/^Machine m-1 successfully joined the cluster in /);
  expect(r.cloud.vms[0]?.userData).toBe('hello m-1');
  const n = (await r.nodes())[0];
  expect(n?.metadata.labels?.['node.gardener.cloud/machine-name']).toBe('m-1');
  expect(n?.metadata.finalizers).toEqual(['node.machine.sapcloud.io/machine-controller']);
});

test('gzip user data reaches the cloud byte for byte', async () => {
  const userData = gzipSync('#cloud-config\nhostname: <<MACHINE_NAME>>\n');
  const { rig: r } = await started();
  await r.createClass('packed', userData);
  await r.createMachine('m-1', { class: { kind: 'MachineClass', name: 'packed' } });
  await r.until(async () => (await r.phase('m-1')) === 'Running');
  expect(r.cloud.vms.map((vm) => Buffer.from(vm.userDataBytes).equals(userData))).toEqual([true]);
});

const started = async (options: Partial<RigOptions> = {}): Promise<{ rig: Rig; requests: RequestLogEntry[] }> => {
  const made = await rig(options);
  await made.rig.createClass();
  made.rig.start();
  return made;
};

const gone = (r: Rig, name: string) => async (): Promise<boolean> => (await r.machine(name)) === undefined;
const running = (r: Rig, name: string) => async (): Promise<boolean> => (await r.phase(name)) === 'Running';

test('an empty machine is deleted with five writes, without a read of its own', async () => {
  const { rig: r, requests } = await started();
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'));
  await r.clock.advance(10_000);
  requests.length = 0;
  await r.deleteMachine('m-1');
  await r.until(gone(r, 'm-1'), 5_000);
  await r.clock.advance(10_000);
  const machine = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines/m-1';
  expect(writes(requests).filter((line) => line.includes('m-1'))).toEqual([
    `PATCH ${machine}/status`,
    'PATCH /api/v1/nodes/m-1/status',
    'PATCH /api/v1/nodes/m-1',
    'DELETE /api/v1/nodes/m-1',
    `PATCH ${machine}`,
  ]);
  // One request checks whether the class has kept VMs before the controller removes its finalizer.
  const reads = mine(requests).filter((entry) => entry.method === 'GET' && entry.verb !== 'watch');
  expect(reads.map(({ resource, verb }) => [resource, verb])).toEqual([['configmaps', 'list']]);
  expect(r.cloud.vms).toEqual([]);
  expect(await r.nodes()).toEqual([]);
});

test.each([
  ['without a token', 'hello', 6],
  ['with a bootstrap token, which needs two writes', 'join <<BOOTSTRAP_TOKEN>>', 8],
])(
  'a machine without finalizer and priority, %s: created with few writes, and deleted with a pod with at most eight',
  async (_what, userData, most) => {
    const { rig: r, requests } = await rig({ cloud: { initializes: true } });
    await r.createClass('bare', userData);
    r.start();
    await r.until(async () => (r.controller?.caches.classes.store.size ?? 0) > 0);
    await r.clock.advance(1_000);
    const counted = (): string[] =>
      writes(requests).filter((line) => !/\/(events|machineclasses|secrets\/bare)/.test(line));
    requests.length = 0;
    await r.createMachine(
      'm-1',
      { class: { kind: 'MachineClass', name: 'bare' } },
      { finalizers: [], annotations: {} },
    );
    await r.until(running(r, 'm-1'));
    await r.clock.advance(60_000);
    expect(counted().filter((line) => line.includes('bootstrap-token-')).length).toBe(most === 8 ? 1 : 0);
    expect(counted().length, counted().join('\n')).toBeLessThanOrEqual(most);
    await r.createPod('web', 'm-1');
    requests.length = 0;
    await r.deleteMachine('m-1');
    await r.until(async () => requests.some((entry) => entry.path.includes('/eviction')), 60_000);
    await r.admin
      .resource(pods, NAMESPACE)
      .delete('web', { gracePeriodSeconds: 0 })
      .catch(() => undefined);
    await r.until(gone(r, 'm-1'), 60_000);
    await r.clock.advance(60_000);
    expect(counted().length, counted().join('\n')).toBeLessThanOrEqual(8);
  },
);

test('class and Secret keep a finalizer while they are used, and lose it afterwards', async () => {
  const { rig: r } = await started();
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'));
  const finalizers = async (): Promise<(string[] | undefined)[]> => {
    const [c] = (await r.admin.resource(machineClasses, NAMESPACE).list()).items;
    const [s] = (await r.admin.resource(secrets, NAMESPACE).list()).items;
    return [c?.metadata.finalizers, s?.metadata.finalizers];
  };
  expect(await finalizers()).toEqual([
    ['machine.sapcloud.io/machine-controller-manager'],
    ['machine.sapcloud.io/machine-controller'],
  ]);
  await r.deleteMachine('m-1');
  await r.until(gone(r, 'm-1'));
  await r.until(async () => (await finalizers())[0] === undefined || (await finalizers())[0]?.length === 0);
  await r.admin.resource(machineClasses, NAMESPACE).delete('small');
  await r.until(async () => ((await finalizers())[1] ?? []).length === 0);
});

test('a class without our finalizer gets it again, and creates machines [S-K5]', async () => {
  const { rig: r } = await started();
  const classes = r.admin.resource(machineClasses, NAMESPACE);
  const held = async () => (await classes.get('small')).metadata.finalizers ?? [];
  expect(await held()).toEqual([]);
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'), 5_000);
  await classes.patch('small', { type: 'merge', body: { metadata: { finalizers: null } } });
  await r.createMachine('m-2');
  await r.until(running(r, 'm-2'), 5_000);
  expect(await held()).toEqual(['machine.sapcloud.io/machine-controller-manager']);
});

test('the wait for a quota has the duration of the flag, and a corrected class ends it at once', async () => {
  const { rig: r } = await started();
  r.cloud.fail('create', { code: 'ResourceExhausted', message: 'no more cores' }, { code: 'InvalidArgument' });
  await r.createMachine('m-1');
  await r.until(async () => (await r.phase('m-1')) === 'CrashLoopBackOff');
  expect((await r.machine('m-1'))?.status?.lastOperation).toMatchObject({
    description: 'Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no more cores]',
    errorCode: 'ResourceExhausted',
    state: 'Failed',
    type: 'Create',
  });
  await r.clock.advance(599_000);
  expect(r.cloud.calls.create).toBe(1);
  await r.clock.advance(2_000);
  expect(r.cloud.calls.create).toBe(2);
  await r.until(async () => (await r.machine('m-1'))?.status?.lastOperation?.errorCode === 'InvalidArgument');
  const body = { providerSpec: { size: 'large' } };
  await r.admin.resource(machineClasses, NAMESPACE).patch('small', { type: 'merge', body });
  await r.until(running(r, 'm-1'), 5_000);
  expect(r.cloud.made).toHaveLength(1);
  expect((await r.machine('m-1'))?.status?.lastOperation?.errorCode).toBeUndefined();
});

test('a missing class or Secret is named; the machine is created when it exists [S-K2]', async () => {
  const { rig: r } = await rig();
  r.start();
  await r.createMachine('m-1');
  await r.until(async () =>
    (await r.description('m-1')).includes('MachineClass "small" does not exist in namespace default'),
  );
  await r.createClass();
  await r.until(running(r, 'm-1'), 5_000);
});

test('a bootstrap token is created only if requested, and deleted when the machine has joined', async () => {
  const { rig: r } = await rig({ joinAfterMs: 60_000 });
  await r.createClass('small', 'token=<<BOOTSTRAP_TOKEN>>');
  r.start();
  await r.createMachine('m');
  await r.until(async () => (await r.phase('m')) === 'Pending');
  const tokens = async () => (await r.admin.resource(secrets, 'kube-system').list()).items;
  const [token] = await tokens();
  expect(token?.type).toBe('bootstrap.kubernetes.io/token');
  const decode = (key: string): string => Buffer.from(token?.data?.[key] ?? '', 'base64').toString();
  expect(r.cloud.vms[0]?.userData).toBe(`token=${decode('token-id')}.${decode('token-secret')}`);
  expect(decode('token-secret')).toMatch(/^[0-9a-z]{16}$/);
  await r.until(running(r, 'm'));
  expect(await tokens()).toEqual([]);
});

test.each([
  ['the same process', async () => undefined],
  [
    'the next process',
    async (r: Rig) => {
      await r.kill();
      r.start();
    },
  ],
])('the bootstrap token of a machine that never joined is deleted with the machine by %s', async (_what, restart) => {
  const { rig: r } = await started({ joinAfterMs: undefined });
  await r.createClass('joining', 'token=<<BOOTSTRAP_TOKEN>>');
  await r.createMachine('m', { class: { kind: 'MachineClass', name: 'joining' } });
  await r.until(async () => (await r.phase('m')) === 'Pending');
  const tokens = async () => (await r.admin.resource(secrets, 'kube-system').list()).items;
  expect(await tokens()).toHaveLength(1);
  await restart(r);
  await r.deleteMachine('m');
  await r.until(gone(r, 'm'));
  expect(await tokens()).toEqual([]);
});

test('a machine that ended causes no further request, although the cache still shows it', async () => {
  const late = Promise.withResolvers<void>();
  let isLate = false;
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  const asked: string[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith('/m')) asked.push(`${request.method} ${pathname}`);
    if (request.method === 'PATCH' && (await request.clone().text()).includes('"finalizers":[]')) isLate = true;
    const response = await plane.fetch(request);
    const watches = /\/machines\?.*watch=true/.test(request.url);
    return watches ? delayedWatch(response, () => (isLate ? late.promise : Promise.resolve())) : response;
  };
  const r = new Rig({ clock, plane: { transport: handlerTransport(fetch) } });
  onTestFinished(async () => {
    late.resolve();
    await r.kill();
    await plane.close();
  });
  await r.createClass();
  r.start();
  await r.createMachine('m');
  await r.until(running(r, 'm'));
  await r.deleteMachine('m');
  await r.until(gone(r, 'm'));
  expect(r.controller?.caches.machines.store.get(`${NAMESPACE}/m`)?.metadata.finalizers).toHaveLength(1);
  await r.admin.resource(nodes).create({ metadata: { name: 'm' }, spec: {} });
  asked.length = 0;
  await r.clock.advance(10_000);
  expect(asked).toEqual([]);
  expect((await r.nodes()).map(({ metadata }) => metadata.name)).toEqual(['m']);
});

test('a deletion waits for a running creation and leaves nothing behind [incident 5]', async () => {
  let release = (): void => undefined;
  const { rig: r } = await started({
    joinAfterMs: undefined,
    cloud: {
      gate: (method, point) =>
        method === 'create' && point === 'before'
          ? new Promise<void>((resolve) => {
              release = resolve;
            })
          : undefined,
    },
  });
  await r.createMachine('m-1');
  await r.until(async () => r.cloud.calls.create === 1);
  await r.deleteMachine('m-1');
  await r.clock.advance(60_000);
  expect(r.cloud.calls.delete).toBe(0);
  expect(await r.description('m-1')).toContain("Waiting: the driver's create call is in progress");
  expect(r.log.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  release();
  await r.until(gone(r, 'm-1'));
  expect(r.cloud.made).toHaveLength(1);
  expect(r.cloud.vms).toEqual([]);
});

function deafTo(method: 'create' | 'delete') {
  let held = 0;
  const released = Promise.withResolvers<void>();
  const gate = (called: string, point: string): Promise<void> | undefined =>
    called === method && point === 'before' && held++ === 0 ? released.promise : undefined;
  return { gate, release: () => released.resolve() };
}

const OVERDUE_MS = 15 * 60_000 + 31_000;

test('a delete that ignores its signal never overlaps with another one, and the status reports it', async () => {
  const { gate, release } = deafTo('delete');
  const { rig: r } = await started({ cloud: { gate } });
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'));
  await r.deleteMachine('m-1');
  await r.until(async () => r.cloud.calls.delete === 1);
  await r.clock.advance(OVERDUE_MS);
  expect(await r.description('m-1')).toBe(
    'The deletion waits for the driver to end its delete call - machine codes error: code = [DeadlineExceeded] message = [delete of machine m-1 took longer than 900 s, and the call ignores its abort signal]. Initiate VM deletion',
  );
  await r.clock.advance(3 * 3_600_000);
  expect(r.cloud.calls.delete).toBe(1);
  release();
  await r.until(gone(r, 'm-1'), 5_000);
  expect(r.cloud.vms).toEqual([]);
});

test('a create that ignores its signal is not repeated, and a deletion waits for it', async () => {
  const { gate, release } = deafTo('create');
  const { rig: r } = await started({ cloud: { gate } });
  await r.createMachine('m-1');
  await r.until(async () => r.cloud.calls.create === 1);
  await r.clock.advance(OVERDUE_MS);
  expect((await r.machine('m-1'))?.status).toMatchObject({
    currentStatus: { phase: 'CrashLoopBackOff' },
    lastOperation: { state: 'Failed', errorCode: 'DeadlineExceeded', type: 'Create' },
  });
  await r.deleteMachine('m-1');
  await r.clock.advance(3_600_000);
  expect([r.cloud.calls.create, r.cloud.calls.delete]).toEqual([1, 0]);
  expect(await r.description('m-1')).toContain('The deletion waits for the driver to end its create call');
  release();
  await r.until(gone(r, 'm-1'), 5_000);
  expect(r.cloud.made).toHaveLength(1);
  expect(r.cloud.vms).toEqual([]);
});

test('cloud calls that never end delay no other machine [incident 1]', async () => {
  const { rig: r } = await started({
    cloud: {
      gate: (method, _point, name) =>
        method === 'create' && name !== 'free' ? new Promise<void>(() => undefined) : undefined,
    },
  });
  for (let i = 0; i < 100; i++) await r.createMachine(`stuck-${i}`);
  await r.until(async () => r.cloud.calls.create === 100);
  await r.createMachine('free');
  await r.until(running(r, 'free'), 1_000);
});

test('a VM whose name an older Node has is deleted [S-C8]', async () => {
  const { rig: r } = await rig({ cloud: { nodeName: () => 'taken' }, joinAfterMs: undefined });
  await r.join({ nodeName: 'taken', providerId: 'fake:///zone/elsewhere' });
  await r.createClass();
  r.start();
  await r.createMachine('m-1');
  await r.until(async () => (await r.phase('m-1')) === 'Failed');
  expect(await r.description('m-1')).toBe('VM using old node obj');
  expect(r.cloud.vms).toEqual([]);
  expect((await r.machine('m-1'))?.spec.providerID).toBeUndefined();
  await r.clock.advance(3_600_000);
  expect(r.cloud.made).toHaveLength(1);
});

test('without a target cluster, a machine is Available with addresses, and is deleted without a drain [S-C11, S-D19]', async () => {
  const { rig: r } = await started({ target: false, joinAfterMs: undefined });
  await r.createMachine('m-1');
  await r.until(async () => (await r.phase('m-1')) === 'Available');
  const m = await r.machine('m-1');
  expect(m?.metadata.labels?.node).toBeUndefined();
  expect(m?.status?.addresses).toEqual([
    { type: 'Hostname', address: 'm-1' },
    { type: 'InternalIP', address: '10.0.0.1' },
  ]);
  await r.deleteMachine('m-1');
  await r.until(gone(r, 'm-1'), 5_000);
  expect(r.cloud.vms).toEqual([]);
});

test('a VM that needs initialization gets it, and a failure is reported', async () => {
  const { rig: r } = await started({ cloud: { initializes: true } });
  r.cloud.fail('initialize', { code: 'Internal' });
  await r.createMachine('m-1');
  await r.until(async () => (await r.description('m-1')).endsWith('Initialize VM Instance'));
  expect((await r.machine('m-1'))?.status?.lastOperation?.errorCode).toBe('Internal');
  await r.until(async () => r.cloud.vms[0]?.initialized === true, 10_000);
  await r.until(running(r, 'm-1'), 10_000);
});

test('a VM that cannot be deleted is reported in the words of the original, and deleted when the cloud recovers [S-D27]', async () => {
  const { rig: r } = await started();
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'));
  r.cloud.fail('delete', { code: 'Unavailable' }, { code: 'PermissionDenied' });
  await r.deleteMachine('m-1');
  await r.until(async () => (await r.description('m-1')).includes('[Unavailable]'));
  expect(await r.description('m-1')).toBe(
    'VM deletion failed due to - machine codes error: code = [Unavailable] message = [the cloud says: Unavailable]. However, will re-try in the next resync. Initiate VM deletion',
  );
  await r.until(async () => (await r.description('m-1')).includes('Aborting operation. Initiate VM deletion'), 10_000);
  await r.until(gone(r, 'm-1'), 601_000);
});

test('deleting a Node deletes its machine', async () => {
  const { rig: r } = await started();
  await r.createMachine('m-1');
  await r.until(running(r, 'm-1'));
  await r.clock.advance(1_000);
  await r.admin.resource(nodes).delete('m-1');
  await r.until(gone(r, 'm-1'), 5_000);
  expect(r.cloud.vms).toEqual([]);
  await r.clock.advance(1_000);
  const reported = (await r.admin.resource<EventObject>(events, NAMESPACE).list()).items;
  expect(reported.filter(({ reason }) => reason === 'NodeDeleted')).toMatchObject([
    { message: 'Its Node m-1 was deleted, so mcm deletes the machine' },
  ]);
});

test('a controller sends no requests while nothing changes', async () => {
  const { rig: r, requests } = await started();
  for (let i = 0; i < 5; i++) await r.createMachine(`m-${i}`);
  await r.until(async () => (await r.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await r.clock.advance(120_000);
  requests.length = 0;
  await r.clock.advance(50_000);
  expect(mine(requests).filter((entry) => entry.verb !== 'watch')).toEqual([]);
});

test('a driver that answers without a provider ID or node name is at fault, and the machine reports it [S-C19]', async () => {
  const { rig } = await started({ cloud: { nodeName: () => '' } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'CrashLoopBackOff');
  expect(await rig.description('m-0')).toContain(
    'code = [Internal] message = [machine "m-0": nodeName ("") or providerID ("fake:///zone/vm-0") is empty after creation flow]',
  );
  expect(rig.cloud.made).toHaveLength(1);
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.machines()).length === 0);
  expect(rig.cloud.vms).toEqual([]);
});
