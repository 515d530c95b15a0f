import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const orphans = { ...ORPHAN_DEFAULTS, stopMs: 6 * HOUR };

const started = (options: StartOptions = {}): Promise<Rig> =>
  startRig({ eventTtlMs: 0, cloud: { stops: true }, controller: { orphans }, ...options });
const classes = (rig: Rig) => rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
const recorded = async (rig: Rig, name = 'small'): Promise<string | undefined> =>
  (await classes(rig).get(name)).metadata.annotations?.[Annotations.StoppedVMs];
const reported = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'OrphanVM')
    .map(({ message = '' }) => message);

async function planted(options: StartOptions = {}): Promise<Rig> {
  const rig = await started(options);
  await rig.clock.advance(5 * MINUTE);
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  return rig;
}

test('an orphan VM is stopped and recorded, and deleted after the period', async () => {
  const rig = await planted();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  const [vm] = rig.cloud.vms;
  expect(vm?.stopped).toBe(true);
  const [id, until = ''] = ((await recorded(rig)) ?? '').split('=');
  expect(id).toBe(vm?.providerId);
  const dueAt = Date.parse(until);
  expect(dueAt - rig.clock.now().getTime()).toBeGreaterThan(5.9 * HOUR);
  expect(rig.controller?.suspects().stopped).toBe(1);
  const { resourceVersion } = (await classes(rig).get('small')).metadata;
  await rig.clock.advance(5 * HOUR);
  expect((await classes(rig).get('small')).metadata.resourceVersion).toBe(resourceVersion);
  expect([rig.cloud.vms.length, rig.cloud.calls.stop]).toEqual([1, 1]);
  await rig.until(async () => rig.cloud.vms.length === 0, 2 * HOUR);
  expect(rig.clock.now().getTime()).toBeGreaterThanOrEqual(dueAt);
  await rig.until(async () => (await recorded(rig)) === undefined, HOUR);
  expect(await reported(rig)).toEqual([
    expect.stringMatching(/; mcm stops the VM, and deletes the VM 6h0m0s later$/),
    expect.stringMatching(/; mcm has stopped the VM, and deletes the VM at .*\. To keep the VM, start the VM/),
    expect.stringMatching(/; mcm deletes the VM$/),
  ]);
});

test('a new process keeps the deletion time', async () => {
  const rig = await planted();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  const before = await recorded(rig);
  await rig.kill();
  rig.start();
  await rig.clock.advance(3 * HOUR);
  expect([await recorded(rig), rig.cloud.calls.stop, rig.cloud.vms.length]).toEqual([before, 1, 1]);
  await rig.until(async () => rig.cloud.vms.length === 0, 4 * HOUR);
});

test('a process that ends before the record stops the VM again, and no process deletes the VM early', async () => {
  let writes = 0;
  const rig = await planted({
    wrap: (transport) => (request) => {
      if (request.method !== 'PATCH' || !request.body?.includes(Annotations.StoppedVMs)) return transport(request);
      writes += 1;
      return writes === 1 ? Promise.reject(new Error('the connection is lost')) : transport(request);
    },
  });
  await rig.until(async () => writes === 1, HOUR);
  await rig.kill();
  rig.start();
  const restart = rig.clock.now().getTime();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  expect(rig.cloud.calls.stop).toBe(2);
  await rig.until(async () => rig.cloud.vms.length === 0, 8 * HOUR);
  expect(rig.clock.now().getTime() - restart).toBeGreaterThan(orphans.stopMs);
});

test('a failed stop is retried, and the VM is not deleted without a stop', async () => {
  const rig = await planted();
  rig.cloud.fail('stop', ...Array(3).fill({ code: 'Unavailable' }));
  await rig.until(async () => rig.cloud.calls.stop === 3, 2 * HOUR);
  await rig.clock.advance(MINUTE);
  expect([await recorded(rig), rig.cloud.vms.length]).toEqual([undefined, 1]);
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
});

test('a released VM is deleted at once', async () => {
  const rig = await planted();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  const id = rig.cloud.vms[0]?.providerId ?? '';
  const body = { metadata: { annotations: { [Annotations.ReleaseVMs]: id } } };
  await classes(rig).patch('small', { type: 'merge', body });
  await rig.until(async () => rig.cloud.vms.length === 0, 5 * MINUTE);
});

test('a machine that takes back the VM ends the wait', async () => {
  const rig = await planted();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  const [vm] = rig.cloud.vms;
  if (vm) vm.stopped = false;
  await rig.createMachine('nobody', { providerID: vm?.providerId ?? '' });
  await rig.until(async () => (await recorded(rig)) === undefined, HOUR);
  await rig.clock.advance(8 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
});

test('a VM with a Ready Node is drained, stopped and later deleted', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete('m-0');
  rig.start();
  await rig.until(async () => rig.cloud.vms[0]?.stopped === true, 2 * HOUR);
  expect((await rig.nodes())[0]?.spec.unschedulable).toBe(true);
  await rig.conditions('m-0', [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]);
  await rig.clock.advance(5 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => rig.cloud.vms.length === 0, 2 * HOUR);
});

test('a driver without power calls keeps the VM running until its deletion time', async () => {
  const rig = await planted({ cloud: {} });
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
  await rig.clock.advance(5 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => rig.cloud.vms.length === 0, 2 * HOUR);
});

test('two classes that list the same VM record the same time, and the VM is stopped once', async () => {
  const rig = await started();
  await rig.createClass('second');
  await rig.clock.advance(5 * MINUTE);
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  await rig.until(
    async () => (await recorded(rig)) !== undefined && (await recorded(rig, 'second')) !== undefined,
    2 * HOUR,
  );
  expect([await recorded(rig, 'second'), rig.cloud.calls.stop]).toEqual([await recorded(rig), 1]);
  expect(rig.controller?.suspects().stopped).toBe(1);
});

test('a slow stop is not repeated by later searches', async () => {
  let finish = (): void => undefined;
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const rig = await planted({ cloud: { stops: true, gate: (method) => (method === 'stop' ? slow : undefined) } });
  await rig.clock.advance(HOUR);
  expect([rig.cloud.calls.stop, rig.cloud.vms.length]).toEqual([1, 1]);
  finish();
  await rig.until(async () => (await recorded(rig)) !== undefined, HOUR);
});
