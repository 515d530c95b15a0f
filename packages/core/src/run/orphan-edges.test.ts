import { Annotations, Labels, type Machine, machineClasses, machines } from '@mcm/api';
import { type ConfigMap, configMaps, events, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { KeptVmOptions } from '../evidence/kept-vms.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] as const;
const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;
const ILL = [...READY, { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' }] as const;

const started = (options: StartOptions = {}): Promise<Rig> => startRig({ eventTtlMs: 0, ...options });

const nodeNames = async (rig: Rig): Promise<string[]> => (await rig.nodes()).map(({ metadata }) => metadata.name);

const reported = async (rig: Rig, about: string): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === about)
    .map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`);

async function leftBehind(rig: Rig, name: string, metadata: object = {}): Promise<void> {
  await rig.admin.resource(nodes).create({
    metadata: {
      name,
      labels: { [Labels.MachineName]: name },
      annotations: { [Annotations.MachineClassOfNode]: `${NAMESPACE}/small` },
      ...metadata,
    },
    spec: { providerID: `fake:///zone/${name}` },
  });
}

const suspectNodes = (rig: Rig): number | undefined => rig.controller?.suspects().nodes;

test('a Node is suspected only after its kubelet stops reporting', async () => {
  const rig = await started();
  await leftBehind(rig, 'gone');
  await rig.conditions('gone', READY);
  await rig.clock.advance(2 * HOUR);
  expect(suspectNodes(rig)).toBe(0);
  await rig.conditions('gone', UNREACHABLE);
  const took = await rig.until(async () => (await nodeNames(rig)).length === 0, 2 * HOUR);
  expect(took).toBeGreaterThanOrEqual(ORPHAN_DEFAULTS.confirmAfterMs);
});

test('a Node that another client deletes is not suspected', async () => {
  const rig = await started();
  await leftBehind(rig, 'gone', { finalizers: ['example.com/later'] });
  await rig.conditions('gone', UNREACHABLE);
  await rig.admin.resource(nodes).delete('gone');
  await rig.clock.advance(2 * HOUR);
  expect(await nodeNames(rig)).toEqual(['gone']);
  expect(suspectNodes(rig)).toBe(0);
});

test.each<[what: string, again: boolean]>([
  ['is gone', false],
  ['was replaced by another one', true],
])('a Node that %s when the cloud has answered is not deleted, and no error is reported', async (_what, again) => {
  let asked = 0;
  const rig: Rig = await started({
    cloud: {
      gate: async (method, point) => {
        if (method !== 'status' || point !== 'before') return;
        asked += 1;
        if (asked > 1) return;
        await rig.admin.resource(nodes).delete('gone');
        if (again) await leftBehind(rig, 'gone');
      },
    },
  });
  await leftBehind(rig, 'gone');
  await rig.conditions('gone', UNREACHABLE);
  await rig.until(async () => asked === 1, 2 * HOUR);
  await rig.clock.advance(1_000);
  expect(await nodeNames(rig)).toEqual(again ? ['gone'] : []);
  expect(rig.log.lines.filter(({ message }) => /orphan node/i.test(message))).toEqual([]);
});

test('a machine with an edited providerID keeps the VM of its Ready Node, and an event reports it', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const body = { spec: { providerID: 'fake:///zone/edited' } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  expect(await reported(rig, 'OrphanVM')).toEqual([
    expect.stringMatching(/mcm keeps the VM because its Node m-0 is Ready/),
  ]);
});

test('a second VM of a machine whose Ready Node runs on the first is an orphan', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const [own] = rig.cloud.vms;
  rig.cloud.plant('m-0', rig.clock.now().toISOString());
  await rig.until(async () => rig.cloud.vms.length === 1, 2 * HOUR);
  await rig.clock.advance(2_000);
  expect(rig.cloud.vms).toEqual([own]);
  expect(await reported(rig, 'OrphanVM')).toEqual([expect.stringMatching(/; mcm deletes the VM$/)]);
});

const records = async (rig: Rig): Promise<number> =>
  (await rig.admin.resource<ConfigMap>(configMaps, NAMESPACE).list()).items.filter(({ metadata }) =>
    metadata.name.startsWith('kept-vm-'),
  ).length;

async function kept(options: StartOptions = {}): Promise<{ rig: Rig; controller: { keptVms: KeptVmOptions } }> {
  const controller = { keptVms: { perClass: 1, forMs: 3 * HOUR } };
  const rig = await started({ controller, ...options });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.conditions('m-0', ILL);
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 3 * HOUR);
  await rig.deleteMachine('m-0');
  await rig.until(async () => !(await rig.machine('m-0')), 3 * HOUR);
  expect(await records(rig)).toBe(1);
  return { rig, controller };
}

test('the record of a VM that a user deleted is removed at its expiry, even without suspects', async () => {
  const { rig } = await kept();
  rig.cloud.lose('m-0');
  await rig.clock.advance(2 * HOUR);
  expect(await records(rig)).toBe(1);
  await rig.clock.advance(2 * HOUR);
  expect(await records(rig)).toBe(0);
});

test('the record of a VM outlives its time until the VM no longer exists', async () => {
  const { rig } = await kept({
    cloud: { gate: (method) => (method === 'delete' ? new Promise<never>(() => undefined) : undefined) },
  });
  await rig.clock.advance(6 * HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
  expect(await records(rig)).toBe(1);
});

test('a deleted class removes the records of deleted VMs, even if it keeps none any more', async () => {
  const { rig, controller } = await kept();
  await rig.kill();
  rig.cloud.lose('m-0');
  controller.keptVms = { perClass: 0, forMs: 3 * HOUR };
  rig.start();
  await rig.clock.advance(30 * MINUTE);
  expect(await records(rig)).toBe(1);
  await rig.admin.resource(machineClasses, NAMESPACE).patch('small', {
    type: 'merge',
    body: { metadata: { finalizers: ['example.com/later'] } },
  });
  await rig.admin.resource(machineClasses, NAMESPACE).delete('small');
  await rig.clock.advance(HOUR);
  expect(await records(rig)).toBe(0);
});

test('the Node of a kept VM is reported once when its kubelet stops, and not before', async () => {
  const { rig } = await kept();
  await rig.clock.advance(HOUR);
  expect(await reported(rig, 'OrphanNode')).toEqual([]);
  await rig.conditions('m-0', UNREACHABLE);
  await rig.clock.advance(HOUR);
  expect(await reported(rig, 'OrphanNode')).toEqual([
    `m-0: Machine m-0 of the Node no longer exists, and no kubelet reports the status of the Node; mcm keeps the Node: the VM of the Node is still in the list of MachineClass ${NAMESPACE}/small`,
  ]);
  await rig.clock.advance(3 * HOUR);
  expect(await nodeNames(rig)).toEqual([]);
  expect((await reported(rig, 'OrphanNode')).at(-1)).toMatch(/mcm deleted the Node$/);
});
