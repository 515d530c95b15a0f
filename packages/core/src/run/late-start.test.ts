import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { running, staged } from './testing/restorable-stage.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function restored(names: readonly string[], elects = true): Promise<Rig> {
  const { rig, plane } = await staged({ elects });
  await running(rig, ...Array.from({ length: 10 }, (_, index) => `old-${index}`));
  const backup = plane.snapshot();
  await rig.clock.advance(10 * MINUTE);
  await running(rig, ...names);
  await rig.clock.advance(20 * MINUTE);
  await rig.kill();
  await plane.restore(backup);
  return rig;
}

const vmOf = (rig: Rig, name: string) => rig.cloud.vms.find(({ machineName }) => machineName === name);

const rejoin = async (rig: Rig, name: string): Promise<void> => {
  const vm = vmOf(rig, name);
  if (vm) await rig.join(vm);
};

const quarantined = async (rig: Rig): Promise<string | undefined> => {
  const { metadata } = await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('small');
  return metadata.annotations?.[Annotations.QuarantinedVMs];
};

const reported = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'OrphanVM')
    .map(({ message = '' }) => message);

async function forceAway(rig: Rig, name: string): Promise<void> {
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete(name);
}

test.each([
  ['has a Ready Node', true],
  ['has no Node', false],
])('a VM that is younger than the backup and %s is in quarantine', async (_what, joins) => {
  const rig = await restored(['young']);
  if (joins) await rejoin(rig, 'young');
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect(await quarantined(rig)).toBe(vmOf(rig, 'young')?.providerId);
  expect(await reported(rig)).toEqual([
    expect.stringContaining('the VM is in quarantine (the control cluster was restored to an older state)'),
  ]);
  if (joins) expect((await rig.admin.resource(nodes).get('young')).spec.unschedulable).toBeUndefined();
  expect(rig.cloud.vms).toHaveLength(11);
});

test('a process that starts before the first one has searched for orphans keeps the VM too', async () => {
  const rig = await restored(['young']);
  rig.start();
  await rig.clock.advance(MINUTE);
  expect(await quarantined(rig)).toBeUndefined();
  await rig.kill();
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect([await quarantined(rig), rig.cloud.vms.length]).toEqual([vmOf(rig, 'young')?.providerId, 11]);
});

test('a machine that is created again adopts its VM, and the other VMs of that time stay in quarantine', async () => {
  const rig = await restored(['young', 'other']);
  await rig.createMachine('young');
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect((await rig.machine('young'))?.spec.providerID).toBe(vmOf(rig, 'young')?.providerId);
  expect([await quarantined(rig), rig.cloud.made.length]).toEqual([vmOf(rig, 'other')?.providerId, 12]);
});

test('a VM that is older than the time without a controller is drained and deleted', async () => {
  const { rig } = await staged({ elects: true });
  await running(rig, 'a', 'b');
  await rig.clock.advance(10 * MINUTE);
  await rig.kill();
  await rig.clock.advance(HOUR);
  await forceAway(rig, 'a');
  rig.start();
  await rig.until(async () => rig.cloud.vms.length === 1, 2 * HOUR);
  await rig.clock.advance(2_000);
  expect(await reported(rig)).toEqual([expect.stringContaining('mcm drains and then deletes the VM')]);
});

test('VMs that a controller without leader election has created are no proof of a restore', async () => {
  const { rig } = await staged({ elects: true });
  await running(rig, 'a');
  await rig.kill();
  rig.start({ elects: false });
  await rig.clock.advance(10 * MINUTE);
  await running(rig, 'b', 'c');
  await rig.clock.advance(10 * MINUTE);
  await rig.kill();
  await forceAway(rig, 'c');
  rig.start();
  await rig.until(async () => rig.cloud.vms.length === 2, 2 * HOUR);
  expect(await quarantined(rig)).toBeUndefined();
});

test('without a Lease, a VM whose Node is lost is kept for an hour, and drained if its Node registers', async () => {
  const rig = await restored(['young'], false);
  await rig.admin
    .resource(nodes)
    .delete('young')
    .catch(() => undefined);
  rig.start();
  await rig.clock.advance(45 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(11);
  expect(await reported(rig)).toEqual([
    expect.stringMatching(/; mcm keeps the VM until \S+, because its Node and pods are unknown/),
  ]);
  await rejoin(rig, 'young');
  await rig.createPod('web', 'young');
  await rig.until(async () => (await rig.admin.resource(nodes).get('young')).spec.unschedulable === true, HOUR);
  expect(rig.cloud.vms).toHaveLength(11);
});

test('without a Lease, a VM whose Node is lost and does not register is deleted after the hour', async () => {
  const rig = await restored(['young'], false);
  rig.start();
  await rig.clock.advance(45 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(11);
  await rig.until(async () => rig.cloud.vms.length === 10, HOUR);
});

test('without a Lease, VMs whose Nodes are lost together are in quarantine', async () => {
  const rig = await restored(['young', 'other'], false);
  rig.start();
  await rig.clock.advance(2 * HOUR);
  expect((await quarantined(rig))?.split(',')).toHaveLength(2);
  expect(rig.cloud.vms).toHaveLength(12);
});

test('without a Lease, a VM that was lost at its creation is deleted without delay', async () => {
  const { rig } = await staged({ elects: false });
  await running(rig, 'a');
  rig.cloud.plant('leaked', rig.clock.now().toISOString());
  await rig.until(async () => rig.cloud.vms.length === 1, 25 * MINUTE);
});
