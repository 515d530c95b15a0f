import { crds, Labels, type Machine, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { runWithCrashes } from './testing/crash-runs.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SECOND = '2026-01-01T00:00:01Z';

const started = (options: StartOptions = {}): Promise<Rig> => startRig({ eventTtlMs: 0, ...options });
const recorded = async (rig: Rig): Promise<string | undefined> => (await rig.machine('m-0'))?.spec.providerID;

test.each([false, true])(
  'a VM that another controller made and did not record is adopted (initialize: %s)',
  async (initializes) => {
    const rig = await started({ cloud: { initializes } });
    const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString());
    await rig.join(vm);
    await rig.createMachine('m-0');
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    expect([await recorded(rig), rig.cloud.made.length, rig.cloud.calls.create]).toEqual([vm.providerId, 1, 0]);
    expect([vm.initialized, rig.cloud.calls.initialize]).toEqual([true, initializes ? 1 : 0]);
    await rig.clock.advance(2 * HOUR);
    expect(rig.cloud.vms).toEqual([vm]);
  },
);

test('a machine that is created again under its name adopts the VM of the former object', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const [vm] = rig.cloud.vms;
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete('m-0');
  await rig.createMachine('m-0');
  rig.start();
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect([await recorded(rig), rig.cloud.made.length]).toEqual([vm?.providerId, 1]);
});

test.each<[title: string, early: boolean]>([
  ['a machine that names a VM gets the Node with this provider ID', false],
  ['a machine that names a VM gets its Node when the Node joins', true],
])('%s', async (_title, early) => {
  const rig = await started({ cloud: { nodeName: (name) => `ip-${name}` }, joinAfterMs: undefined });
  const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString());
  if (!early) await rig.join(vm);
  await rig.createMachine('m-0', { providerID: vm.providerId });
  if (early) {
    await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
    await rig.clock.advance(MINUTE);
    await rig.join(vm);
  }
  await rig.until(async () => (await rig.phase('m-0')) === 'Running', MINUTE);
  expect((await rig.machine('m-0'))?.metadata.labels).toMatchObject({ node: vm.nodeName });
  expect([rig.cloud.made.length, rig.cloud.calls.create]).toEqual([1, 0]);
});

test('of two machines that name the same VM, none gets its Node', async () => {
  const rig = await started({ joinAfterMs: undefined });
  const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString());
  for (const name of ['m-1', 'm-2']) await rig.createMachine(name, { providerID: vm.providerId });
  await rig.until(async () => (await rig.phase('m-2')) === 'Pending');
  await rig.join(vm);
  await rig.clock.advance(MINUTE);
  expect((await rig.machines()).map(({ metadata }) => metadata.labels?.[Labels.Node])).toEqual([undefined, undefined]);
});

test('the lookup costs one call in the life of a machine', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.clock.advance(HOUR);
  expect([rig.cloud.calls.status, rig.cloud.calls.create]).toEqual([1, 1]);
});

test('a creation whose answer was lost needs no lookup: the driver finds its VM', async () => {
  const rig = await started({ cloud: { hides: () => true } });
  rig.cloud.fail('create', { code: 'Unavailable', after: true });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect([rig.cloud.calls.status, rig.cloud.calls.create, rig.cloud.made.length]).toEqual([1, 2, 1]);
});

test('a failed lookup is repeated, and nothing is created in the meantime', async () => {
  const rig = await started();
  const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString());
  rig.cloud.fail('status', { code: 'Unavailable' }, { code: 'Internal' }, { code: 'Unavailable', after: true });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'CrashLoopBackOff');
  expect(await rig.description('m-0')).toContain('code = [Unavailable]');
  await rig.until(async () => (await recorded(rig)) === vm.providerId);
  expect([rig.cloud.calls.create, rig.cloud.made.length]).toEqual([0, 1]);
});

test('of several VMs the one whose Node has joined is adopted; the others become orphans', async () => {
  const rig = await started({ cloud: { nodeName: (name) => `ip-${name}` }, joinAfterMs: undefined });
  const now = rig.clock.now().toISOString();
  rig.cloud.plant('m-0', now);
  const second = rig.cloud.plant('m-0', now);
  await rig.join(second);
  await rig.clock.advance(1_000);
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect(await recorded(rig)).toBe(second.providerId);
  await rig.until(async () => rig.cloud.vms.length === 1, 2 * HOUR);
  expect([rig.cloud.vms, rig.cloud.made.length]).toEqual([[second], 2]);
});

test('of several VMs without a Node the oldest is adopted', async () => {
  const rig = await started({ joinAfterMs: undefined });
  rig.cloud.plant('m-0', SECOND);
  const oldest = rig.cloud.plant('m-0', '2026-01-01T00:00:00Z');
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  expect(await recorded(rig)).toBe(oldest.providerId);
});

test('a VM that is about to end is not adopted: the machine waits, then gets a new one', async () => {
  const rig = await started();
  const dying = rig.cloud.plant('m-0', rig.clock.now().toISOString());
  dying.ending = 'being deleted';
  await rig.createMachine('m-0');
  await rig.until(async () =>
    (await rig.description('m-0')).includes('which has the name of the machine, is being deleted'),
  );
  expect(rig.cloud.calls.create).toBe(0);
  rig.cloud.lose('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect(await recorded(rig)).not.toBe(dying.providerId);
});

test('a VM that another machine has on record is not adopted', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('other');
  await rig.until(async () => (await rig.phase('other')) === 'Pending');
  const [vm] = rig.cloud.vms;
  rig.cloud.plant('m-0', vm?.createdAt, vm?.providerId);
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  expect(await recorded(rig)).not.toBe(vm?.providerId);
});

test('a VM that another machine records with the ID of the cloud controller is not adopted', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('other', { providerID: 'aws:///eu-west-1a/i-1' });
  const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString(), 'aws:///eu-west-1/i-1');
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  expect(await recorded(rig)).not.toBe(vm.providerId);
});

test.each<[whose: string, owner: string | undefined, former: string[], adopts: boolean]>([
  ['no control cluster', undefined, [], true],
  ['this control cluster', 'ours', [], true],
  ['a former control cluster', 'former', ['former'], true],
  ['another control cluster', 'theirs', [], false],
])('a VM with the machine’s name and the mark of %s', async (_whose, owner, former, adopts) => {
  const orphans = { ...ORPHAN_DEFAULTS, formerOwners: former };
  const rig = await started({ joinAfterMs: undefined, controller: { owner: () => 'ours', orphans } });
  const vm = rig.cloud.plant('m-0', rig.clock.now().toISOString(), undefined, owner);
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  expect((await recorded(rig)) === vm.providerId).toBe(adopts);
  expect(rig.cloud.vms).toHaveLength(adopts ? 1 : 2);
});

test('a VM that is kept for analysis is not adopted by a machine with its name', async () => {
  const rig = await started({ controller: { keptVms: { perClass: 1, forMs: 3 * HOUR } } });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  const [kept] = rig.cloud.vms;
  await rig.conditions('m-0', [
    { type: 'Ready', status: 'True', reason: 'KubeletReady' },
    { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
  ]);
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 3 * HOUR);
  await rig.deleteMachine('m-0');
  await rig.until(async () => !(await rig.machine('m-0')), 3 * HOUR);
  expect(rig.cloud.vms).toEqual([kept]);
  await rig.createMachine('m-0');
  await rig.until(async () => (await recorded(rig)) !== undefined);
  expect(await recorded(rig)).not.toBe(kept?.providerId);
});

test('a process that is killed at any write or cloud call of an adoption creates no second VM', async () => {
  const live = (crashes: readonly number[]) =>
    runWithCrashes(
      crashes,
      {
        open: (clock) => startControlPlane({ clock, crds, controllers: false }),
        seed: 1,
        joinAfterMs: 0,
        cloud: { initializes: true },
      },
      async ({ rig, settled }) => {
        const vm = rig.cloud.plant('a', rig.clock.now().toISOString());
        await rig.join(vm);
        await rig.createMachine('a');
        await settled(async () => (await rig.phase('a')) === 'Running');
        expect([rig.cloud.made, (await rig.machine('a'))?.spec.providerID]).toEqual([[vm], vm.providerId]);
      },
    );
  const { points } = await live([]);
  expect(points).toBeGreaterThan(8);
  for (let at = 0; at < points; at++) expect((await live([at])).crashes).toBe(1);
}, 300_000);
