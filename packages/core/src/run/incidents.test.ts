import { crds, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  events,
  type Fence,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  runElected,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
  volumeAttachments,
} from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { MachineError } from '../driver/contract/errors.ts';
import { controllerIdOf } from '../driver/testing.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  return startRig(options);
}

const HOUR = 3_600_000;

function cuttable(only: (path: string) => boolean) {
  let cut = false;
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      cut && only(request.path) ? Promise.reject(new TypeError('connection refused')) : transport(request);
  return {
    wrap,
    set: (value: boolean) => {
      cut = value;
    },
  };
}

test.each<[what: string, only: (path: string) => boolean]>([
  ['the whole server is unreachable', () => true],
  ['only machines cannot be listed', (path) => path.includes('/machines')],
])('incident 15: after a restart while %s, no healthy VM is treated as an orphan', async (_what, only) => {
  const { wrap, set } = cuttable(only);
  const rig = await started({ wrap });
  for (let i = 0; i < 5; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  const before = rig.cloud.vms.map(({ providerId }) => providerId);
  await rig.kill();
  const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
  set(true);
  rig.start();
  await rig.clock.advance(3 * HOUR);
  expect(rig.cloud.calls.delete).toBe(0);
  set(false);
  // The deletion of this VM proves that the orphan collection runs and keeps the other VM on purpose.
  await rig.until(async () => !rig.cloud.vms.includes(orphan), 3 * HOUR);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms.map(({ providerId }) => providerId)).toEqual(before);
  expect((await rig.machines()).map((m) => m.status?.currentStatus?.phase)).toEqual(before.map(() => 'Running'));
});

test('a process that was suspended while another took the lease changes nothing in the cloud [incident 16]', async () => {
  let fence: Fence | undefined;
  const rig = await started({
    controller: { fence: { confirm: async () => fence?.confirm(), held: async () => fence?.held() } },
  });
  const { clock, admin, log } = rig;
  const lease = { namespace: NAMESPACE, name: 'machine-controller' };
  const stop = new AbortController();
  const term = { client: admin, lease, identity: 'old', clock, random: seededRandom(1), log, signal: stop.signal };
  const ended = runElected(term, (signal, given) => {
    fence = given;
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  });
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');

  const held = await admin.resource(leases, NAMESPACE).get(lease.name);
  await admin.resource(leases, NAMESPACE).update({ ...held, spec: { ...held.spec, holderIdentity: 'new' } });
  clock.jump(HOUR);
  const { create: made, delete: deleted } = rig.cloud.calls;
  await rig.deleteMachine('m');
  await rig.createMachine('late');
  await clock.settle();
  expect(rig.cloud.calls).toMatchObject({ create: made, delete: deleted });
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m']);
  expect(await rig.description('late')).toContain(
    'create was not sent, because the process cannot confirm its leadership',
  );
  await clock.advance(2_000);
  expect(await ended).toBe('lost');
});

test('two control clusters with one cloud account and one cluster tag keep each other’s VMs [incident 16]', async () => {
  const mine = await started({ joinAfterMs: undefined, controller: { owner: () => 'cluster-a' } });
  const plane = await startControlPlane({ clock: mine.clock, crds, controllers: false });
  const orphans = { ...ORPHAN_DEFAULTS, formerOwners: ['cluster-moved-away'] };
  const other = new Rig({
    clock: mine.clock,
    plane,
    sharedCloud: mine.cloud,
    controller: { owner: () => 'cluster-b', orphans },
  });
  cleanUp.push(async () => {
    await other.kill();
    await plane.close();
  });
  await other.createClass();
  other.start();
  for (const [rig, name] of [
    [mine, 'a'],
    [other, 'b'],
  ] as const) {
    await rig.createMachine(name, { creationTimeout: '5h' });
    await rig.until(async () => (await rig.phase(name)) === 'Pending');
  }
  expect(mine.cloud.vms.map(({ machineName, owner }) => `${machineName} ${owner}`)).toEqual([
    'a cluster-a',
    'b cluster-b',
  ]);
  const created = mine.clock.now().toISOString();
  // A control cluster may delete VMs without a tag, its own VMs, and VMs of a control cluster that it replaced.
  mine.cloud.plant('nobody', created);
  mine.cloud.plant('lost', created, undefined, 'cluster-a');
  mine.cloud.plant('moved', created, undefined, 'cluster-moved-away');
  await mine.clock.advance(HOUR / 2);
  const reported = (await mine.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'ForeignVMs',
  );
  expect(
    reported.map(({ involvedObject, message, count }) => `${involvedObject.kind} ${count} ${message}`).sort(),
  ).toEqual([
    expect.stringMatching(
      /^MachineClass 1 VMs with the tags .* another control cluster \(cluster-b\), .*--orphan-former-owners/,
    ),
    expect.stringMatching(/^MachineClass 1 .*\(cluster-moved-away\)/),
  ]);
  await mine.clock.advance(3 * HOUR);
  expect(mine.cloud.vms.map(({ machineName }) => machineName)).toEqual(['a', 'b']);
  await mine.kill();
  await mine.clock.advance(3 * HOUR);
  expect(mine.cloud.vms.map(({ machineName }) => machineName)).toEqual(['a', 'b']);
});

test('a VM with the name of a Node that was just deleted does not join through that Node [incident 17]', async () => {
  const name = 'ip-10-0-0-1';
  const rig = await started({ cloud: { nodeName: () => name }, joinAfterMs: undefined });
  const vmOf = (machine: string) => {
    const vm = rig.cloud.vms.find(({ machineName }) => machineName === machine);
    if (!vm) throw new Error(`machine ${machine} has no VM`);
    return vm;
  };
  const hold = (finalizers: string[] | null): Promise<unknown> =>
    rig.admin.resource(nodes).patch(name, { type: 'merge', body: { metadata: { finalizers } } });
  const joins = async (machine: string): Promise<void> => {
    await rig.until(async () => (await rig.phase(machine)) === 'Pending');
    await rig.join(vmOf(machine));
    await rig.until(async () => (await rig.phase(machine)) === 'Running');
  };

  await rig.createMachine('old');
  await joins('old');
  await hold(['example.com/slow', 'node.machine.sapcloud.io/machine-controller']);
  await rig.deleteMachine('old');
  await rig.until(async () => (await rig.machines()).length === 0);
  expect((await rig.nodes())[0]?.metadata.deletionTimestamp).toBeDefined();

  await rig.createMachine('new');
  await rig.until(async () => (await rig.phase('new')) === 'Failed');
  expect(await rig.description('new')).toBe('VM using old node obj');
  expect(rig.cloud.vms).toEqual([]);
  await rig.clock.advance(HOUR);
  expect(await rig.phase('new')).toBe('Failed');

  await hold(null);
  await rig.until(async () => (await rig.nodes()).length === 0);
  await rig.createMachine('next');
  await joins('next');
  expect((await rig.nodes())[0]?.spec.providerID).toBe(controllerIdOf(vmOf('next').providerId));
});

test('a VM whose kubelet finds the Ready Node of an unknown VM joins with its own Node [incident 17]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m', { creationTimeout: '20m' });
  await rig.until(async () => (await rig.phase('m')) === 'Pending');
  const [own] = rig.cloud.vms;
  if (!own) throw new Error('no VM');
  await rig.clock.advance(5_000);
  // A `create` call whose response was lost created the first VM, which joined and was deleted. The kubelet of the
  // second VM uses the Node of the first VM.
  const gone = { metadata: { name: own.nodeName }, spec: { providerID: 'fake:///gone' } };
  await rig.admin.resource(nodes).create({ ...gone, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  await rig.until(async () => (await rig.nodes()).length === 0, 2_000);
  expect(rig.cloud.calls.status).toBe(2);
  await rig.join(own);
  await rig.until(async () => (await rig.phase('m')) === 'Running', 5_000);
});

test('a leftover Node that is younger than a minute is deleted before the machine’s own kubelet finds it [incident 17]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m', { creationTimeout: '20m' });
  await rig.until(async () => (await rig.phase('m')) === 'Pending');
  const [own] = rig.cloud.vms;
  if (!own) throw new Error('no VM');
  const client = rig.admin.resource(nodes);
  const register = () => client.create({ metadata: { name: 'm' }, spec: { providerID: 'fake:///gone' } });
  await register();
  await rig.until(async () => (await rig.nodes()).length === 0, 2_000);
  expect(await rig.phase('m')).toBe('Pending');
  // The controller deletes the Node, and the kubelet of an unknown VM creates it again. The loop must end.
  await register();
  await rig.clock.advance(50_000);
  expect(await rig.nodes()).toHaveLength(1);
  await rig.until(async () => (await rig.nodes()).length === 0, 15_000);
  await rig.join(own);
  await rig.until(async () => (await rig.phase('m')) === 'Running', 5_000);
});

test('a kubelet that uses the Node of another VM and does not register again ends its machine in time, with a reason [incident 17]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m', { creationTimeout: '20m' });
  await rig.until(async () => (await rig.phase('m')) === 'Pending');
  await rig.admin.resource(nodes).create({ metadata: { name: 'm' }, spec: { providerID: 'fake:///gone' } });
  await rig.until(async () => (await rig.nodes()).length === 0, 2_000);
  await rig.until(async () => (await rig.phase('m')) === 'Failed', 21 * 60_000);
  expect(await rig.description('m')).toContain('failed to join the cluster');
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.machines()).length === 0, 60_000);
  expect(rig.cloud.vms).toEqual([]);
});

test('a machine whose provider ID was edited before it joined keeps its Node: the cloud names another VM', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m', { creationTimeout: '20m' });
  await rig.until(async () => (await rig.phase('m')) === 'Pending');
  const [own] = rig.cloud.vms;
  if (!own) throw new Error('no VM');
  const body = { spec: { providerID: 'fake:///edited' } };
  await rig.admin.resource(machines, NAMESPACE).patch('m', { type: 'merge', body });
  await rig.join(own);
  await rig.clock.advance(15 * 60_000);
  expect((await rig.nodes()).map(({ spec }) => spec.providerID)).toEqual([controllerIdOf(own.providerId)]);
});

function blindToNodes() {
  let blind = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (!blind || !request.path.startsWith('/api/v1/nodes?')) return transport(request);
      if (request.path.includes('watch=')) {
        return new Promise((_, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      }
      return new Response('{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}');
    };
  return {
    wrap,
    set: (value: boolean) => {
      blind = value;
    },
  };
}

test('a machine whose Node the cache does not have yet is drained before its VM is deleted', async () => {
  const { wrap, set } = blindToNodes();
  const rig = await started({ wrap });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web', 'm-0');
  await rig.kill();
  await rig.deleteMachine('m-0');
  set(true);
  rig.start();
  await rig.clock.advance(20_000);
  expect(rig.cloud.vms).toHaveLength(1);
  const [pod] = (await rig.admin.resource(pods, NAMESPACE).list()).items;
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
  expect((await rig.nodes())[0]?.spec.unschedulable).toBe(true);
  await rig.admin.resource(pods, NAMESPACE).delete('web', { gracePeriodSeconds: 0 });
  await rig.until(async () => (await rig.machines()).length === 0);
  expect(rig.cloud.vms).toEqual([]);
  expect(await rig.nodes()).toEqual([]);
});

test('forty machines without capacity call the cloud one at a time, with growing waits, and report the same error [incident 23]', async () => {
  let short = true;
  const rig = await started({
    cloud: {
      gate: (method, point) => {
        if (method === 'create' && point === 'before' && short) throw new MachineError('ResourceExhausted', 'no cores');
      },
    },
  });
  const spec = { creationTimeout: '5h' };
  await rig.createMachine('first', spec);
  await rig.until(async () => (await rig.phase('first')) === 'CrashLoopBackOff');
  for (let i = 0; i < 39; i++) await rig.createMachine(`m-${i}`, i === 0 ? {} : spec);
  const elsewhere = { metadata: { labels: { 'topology.kubernetes.io/zone': 'z2' } } };
  await rig.until(async () =>
    (await rig.machines()).every((m) => m.status?.lastOperation?.errorCode === 'ResourceExhausted'),
  );
  expect(rig.cloud.calls.create).toBe(1);
  await rig.clock.advance(2 * HOUR);
  // All machines send a `create` call after 10 minutes and after 30 minutes, and later every 30 to 36 minutes.
  expect(rig.cloud.calls.create).toBeGreaterThanOrEqual(4);
  expect(rig.cloud.calls.create).toBeLessThanOrEqual(6);
  expect(await rig.phase('m-0')).toBe('Failed');
  short = false;
  await rig.createMachine('other-zone', { nodeTemplate: elsewhere });
  await rig.until(async () => (await rig.phase('other-zone')) === 'Running', 60_000);
  expect(rig.cloud.vms).toHaveLength(1);
  // No MachineSet owns the Failed machine, so the controller retries its creation.
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  expect(rig.cloud.made).toHaveLength(41);
  expect(rig.cloud.vms).toHaveLength(41);
});

test('volumes of an unreachable node are detached when its VM is gone, not after six minutes, and never before [incident 20]', async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds });
  const steps: string[] = [];
  const note = (step: string): number => steps.push(`${step}, ${rig.cloud.vms.length} VMs`);
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      if (String(request.body).includes('node.kubernetes.io/out-of-service')) note('out of service');
      if (request.method === 'DELETE' && request.path.includes('/volumeattachments/')) note('attachment deleted');
      return transport(request);
    };
  const rig: Rig = new Rig({ clock, plane, wrap });
  cleanUp.push(async () => {
    await rig.kill();
    await plane.close();
  });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const { admin } = rig;
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  const csi = { driver: 'local.csi', volumeHandle: 'vol-1' };
  await admin.resource(persistentVolumes).create({ metadata: { name: 'pv-1' }, spec: { ...spec, csi } });
  await admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name: 'data', namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv-1' },
  });
  await admin.resource(volumeAttachments).create({
    metadata: { name: 'va-1' },
    spec: { attacher: 'local.csi', nodeName: 'm-0', source: { persistentVolumeName: 'pv-1' } },
  });
  await rig.createPod('db', 'm-0', {}, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]);
  const attached = async (): Promise<boolean> => (await admin.resource(volumeAttachments).list()).items.length > 0;
  // The kubelet has stopped, so the pod does not end, and its volume stays in use in the status of the Node.
  const body = { status: { volumesInUse: ['kubernetes.io/csi/local.csi^vol-1'] } };
  await admin.resource(nodes).patch('m-0', { type: 'merge', body }, { subresource: 'status' });
  await rig.conditions('m-0', [{ type: 'Ready', status: 'Unknown', lastTransitionTime: clock.now().toISOString() }]);
  let vmGoneAt: number | undefined;
  let detachedAt: number | undefined;
  await admin
    .resource(machines, NAMESPACE)
    .patch('m-0', { type: 'merge', body: { metadata: { labels: { 'force-deletion': 'true' } } } });
  await rig.deleteMachine('m-0');
  await rig.until(async () => {
    if (rig.cloud.vms.length === 0) vmGoneAt ??= clock.now().getTime();
    if (!(await attached())) detachedAt ??= clock.now().getTime();
    return (await rig.machines()).length === 0;
  });
  expect(steps[0]).toBe('out of service, 0 VMs');
  expect(steps.every((step) => step.endsWith(', 0 VMs'))).toBe(true);
  expect(detachedAt).toBeGreaterThanOrEqual(vmGoneAt ?? Number.POSITIVE_INFINITY);
  expect((detachedAt ?? 0) - (vmGoneAt ?? 0)).toBeLessThan(30_000);
  expect(await rig.nodes()).toEqual([]);
});

test('a creation timeout that is raised while the machine is pending extends its bootstrap token [incident 25]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createClass('joining', 'join <<BOOTSTRAP_TOKEN>>');
  await rig.createMachine('m-0', { class: { kind: 'MachineClass', name: 'joining' }, creationTimeout: '20m' });
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  const token = async () => {
    const { items } = await rig.admin.resource(secrets, 'kube-system').list();
    const found = items.find(({ metadata }) => metadata.name.startsWith('bootstrap-token-'));
    const data = found?.data ?? {};
    const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
    return { value: `${text('token-id')}.${text('token-secret')}`, expires: Date.parse(text('expiration')) };
  };
  const first = await token();
  const made = Date.parse((await rig.machine('m-0'))?.metadata.creationTimestamp ?? '');
  expect(first.expires).toBeGreaterThan(made + HOUR / 3);
  expect(rig.cloud.made[0]?.userData).toBe(`join ${first.value}`);

  await rig.clock.advance(HOUR / 6);
  await rig.admin
    .resource(machines, NAMESPACE)
    .patch('m-0', { type: 'merge', body: { spec: { creationTimeout: '2h' } } });
  await rig.clock.advance(1_000);
  const longer = await token();
  expect(longer.value).toBe(first.value);
  expect(longer.expires).toBeGreaterThan(made + 2 * HOUR);
  await rig.clock.advance(1.5 * HOUR);
  expect((await token()).expires).toBeGreaterThan(rig.clock.now().getTime());
  const [vm] = rig.cloud.vms;
  if (vm) await rig.join(vm);
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.clock.advance(1_000);
  expect((await token()).value).toBe('.');
});
