import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { OfferingBook } from '../machine/calls/offering-book.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OF_SPREAD = { class: { kind: 'MachineClass', name: 'spread' }, creationTimeout: '10h' };
const LIST = [{ zone: 'b' }, { zone: 'c', machineType: 'large' }];

const classes = (rig: Rig) => rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);

const annotate = (rig: Rig, name: string, annotations: Record<string, string | null>) =>
  classes(rig).patch(name, { type: 'merge', body: { metadata: { annotations } } });

async function started(empty: Set<string>, options: StartOptions = {}): Promise<Rig> {
  const rig = await startRig({
    eventTtlMs: 0,
    ...options,
    cloud: { zonal: true, room: (offering) => !empty.has(offering), ...options.cloud },
  });
  await rig.createClass('spread', 'hello', { providerSpec: { size: 'small', zone: 'a' } });
  await annotate(rig, 'spread', { [Annotations.CapacityAlternatives]: JSON.stringify(LIST) });
  return rig;
}

async function createMany(rig: Rig, count: number, from = 0): Promise<void> {
  for (let i = from; i < from + count; i++) await rig.createMachine(`m-${i}`, OF_SPREAD);
}

const running = (rig: Rig, count: number, maxMs = HOUR) =>
  rig.until(
    async () =>
      (await rig.machines()).filter(({ status }) => status?.currentStatus?.phase === 'Running').length === count,
    maxMs,
  );

const offering = async (rig: Rig, name: string): Promise<string | undefined> =>
  (await rig.machine(name))?.metadata.annotations?.[Annotations.CapacityOffering];

const refusals = (rig: Rig): Record<string, number> => {
  const count: Record<string, number> = {};
  for (const asked of rig.cloud.asked.filter(({ refused }) => refused))
    count[asked.offering] = (count[asked.offering] ?? 0) + 1;
  return count;
};

test('without a shortage every machine has the first choice', async () => {
  const rig = await started(new Set());
  await createMany(rig, 5);
  await running(rig, 5);
  expect(new Set(rig.cloud.vms.map((vm) => vm.offering))).toEqual(new Set(['small a']));
  expect(await offering(rig, 'm-0')).toBe('{}');
});

test('forty machines, the first zone is empty: one refused call, and all run in the next zone', async () => {
  const rig = await started(new Set(['small a']));
  await createMany(rig, 40);
  await running(rig, 40);
  expect(refusals(rig)).toEqual({ 'small a': 1 });
  expect(new Set(rig.cloud.vms.map((vm) => vm.offering))).toEqual(new Set(['small b']));
  expect(await offering(rig, 'm-7')).toBe('{"zone":"b"}');
  const chosen = async () =>
    (await rig.admin.resource(events).list()).items.filter(({ reason }) => reason === 'AlternativeChosen');
  await rig.until(async () => (await chosen()).length > 0, MINUTE);
  expect((await chosen())[0]?.message).toContain('no capacity for the first choice');
});

test('the machine controller writes an exhausted offering to the book of the fleet, without a secret', async () => {
  const offerings = new OfferingBook(new VirtualClock());
  const rig = await started(new Set(['small a']), { controller: { offerings } });
  await createMany(rig, 1);
  await running(rig, 1);
  const keys = [...offerings.entries.keys()];
  expect([keys.length, keys[0]]).toEqual([1, expect.stringContaining('small')]);
  expect(keys[0]).not.toContain('hello');
});

test('the last alternative may change several fields', async () => {
  const rig = await started(new Set(['small a', 'small b']));
  await createMany(rig, 3);
  await running(rig, 3);
  expect(new Set(rig.cloud.vms.map((vm) => vm.offering))).toEqual(new Set(['large c']));
});

test('another pool of the process asks no empty offering, and one new machine probes it when the wait is over', async () => {
  const empty = new Set(['small a']);
  const rig = await started(empty);
  await createMany(rig, 1);
  await running(rig, 1);
  await rig.createClass('other', 'hello', { providerSpec: { size: 'small', zone: 'a' } });
  await annotate(rig, 'other', { [Annotations.CapacityAlternatives]: JSON.stringify([{ zone: 'b' }]) });
  await rig.createMachine('other-0', { ...OF_SPREAD, class: { kind: 'MachineClass', name: 'other' } });
  await running(rig, 2);
  expect(refusals(rig)).toEqual({ 'small a': 1 });
  await rig.clock.advance(10 * MINUTE);
  await createMany(rig, 20, 1);
  await running(rig, 22);
  expect(refusals(rig)).toEqual({ 'small a': 2 });
  empty.clear();
  await rig.clock.advance(HOUR);
  await createMany(rig, 20, 21);
  await running(rig, 42);
  expect(rig.cloud.vms.filter((vm) => vm.offering === 'small a').length).toBeGreaterThan(0);
  expect(refusals(rig)).toEqual({ 'small a': 2 });
});

test('all offerings are empty: one probe at a time, and every machine runs once one has capacity', async () => {
  const empty = new Set(['small a', 'small b', 'large c']);
  const rig = await started(empty);
  await createMany(rig, 30);
  await rig.until(async () =>
    (await rig.machines()).every((m) => m.status?.lastOperation?.errorCode === 'ResourceExhausted'),
  );
  expect(refusals(rig)).toEqual({ 'small a': 1, 'small b': 1, 'large c': 1 });
  expect(await offering(rig, 'm-3')).toBeUndefined();
  await rig.clock.advance(2 * HOUR);
  for (const count of Object.values(refusals(rig))) expect(count).toBeLessThanOrEqual(6);
  empty.delete('small b');
  await running(rig, 30, 4 * HOUR);
  expect(rig.cloud.vms).toHaveLength(30);
});

test('after a lost answer the call is repeated with the recorded offering, although another one has capacity by then', async () => {
  const empty = new Set(['small a']);
  const rig = await started(empty);
  await createMany(rig, 1);
  await running(rig, 1);
  // The cloud created the VM in zone b, but the response is lost.
  rig.cloud.fail('create', { code: 'Unavailable', after: true });
  await rig.createMachine('lost', OF_SPREAD);
  await rig.until(async () => rig.cloud.made.length === 2, MINUTE);
  await rig.kill();
  empty.clear();
  rig.cloud.fail('status', { code: 'NotFound' });
  rig.start();
  await running(rig, 2);
  expect(rig.cloud.made.map((vm) => vm.offering)).toEqual(['small b', 'small b']);
  expect(rig.cloud.vms).toHaveLength(2);
  expect(await offering(rig, 'lost')).toBe('{"zone":"b"}');
});

test('a machine that is deleted after a lost answer leaves no VM in another zone', async () => {
  const rig = await started(new Set(['small a']));
  await createMany(rig, 1);
  await running(rig, 1);
  rig.cloud.fail('create', { code: 'Unavailable', after: true });
  await rig.createMachine('lost', OF_SPREAD);
  await rig.until(async () => rig.cloud.made.length === 2, MINUTE);
  await rig.kill();
  await rig.deleteMachine('lost');
  rig.start();
  await rig.until(async () => (await rig.machines()).length === 1, HOUR);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m-0']);
});

test('an orphaned VM of an alternative in another zone is found and deleted', async () => {
  const rig = await started(new Set(['small a']));
  await createMany(rig, 1);
  await running(rig, 1);
  await rig.kill();
  await rig.admin
    .resource<Machine>(machines, NAMESPACE)
    .patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
  await rig.deleteMachine('m-0');
  rig.start();
  await rig.until(async () => rig.cloud.vms.length === 0, 3 * HOUR);
});

test('invalid alternatives have no effect, and the event names the field and the fix', async () => {
  const rig = await started(new Set());
  await annotate(rig, 'spread', { [Annotations.CapacityAlternatives]: '[{"zone":"mars"},{"size":"x"}]' });
  await createMany(rig, 1);
  await running(rig, 1);
  expect(await offering(rig, 'm-0')).toBeUndefined();
  const said = async () =>
    (await rig.admin.resource(events).list()).items.filter(({ reason }) => reason === 'InvalidClass');
  await rig.until(async () => (await said()).length === 1, MINUTE);
  expect((await said()).map(({ message }) => message)).toEqual([
    `${Annotations.CapacityAlternatives}[1].size: is not a field of an alternative of this provider; use machineType, zone`,
  ]);
  await annotate(rig, 'spread', { [Annotations.CapacityAlternatives]: '[{"zone":"mars"}]' });
  await rig.until(async () => (await said()).length === 2, MINUTE);
  expect((await said())[1]?.message).toBe(
    `${Annotations.CapacityAlternatives}[0].zone: mars is not a zone; write a zone of the region`,
  );
});

test('an edited record stops the calls of its machine with the name of the annotation', async () => {
  const rig = await started(new Set());
  await rig.kill();
  await rig.createMachine('m-0', OF_SPREAD);
  await rig.admin
    .resource<Machine>(machines, NAMESPACE)
    .patch('m-0', { type: 'merge', body: { metadata: { annotations: { [Annotations.CapacityOffering]: 'zone b' } } } });
  rig.start();
  await rig.until(async () => (await rig.machine('m-0'))?.status?.lastOperation?.errorCode === 'InvalidArgument');
  expect((await rig.machine('m-0'))?.status?.lastOperation?.description).toContain(Annotations.CapacityOffering);
  expect(rig.cloud.made).toEqual([]);
});

test('the list of a deployment replaces that of the class, and its errors are reported on the machine', async () => {
  const rig = await started(new Set(['small a', 'small b']));
  const resource = rig.admin.resource<Machine>(machines, NAMESPACE);
  const createWith = (name: string, list: string) =>
    resource.create({
      metadata: { name, namespace: NAMESPACE, annotations: { [Annotations.CapacityAlternatives]: list } },
      spec: OF_SPREAD,
    });
  await createWith('own', '[{"machineType":"huge"}]');
  await running(rig, 1);
  expect(rig.cloud.vms.map((vm) => vm.offering)).toEqual(['huge a']);
  await createWith('broken', '[{"zone":7}]');
  const said = async () =>
    (await rig.admin.resource(events).list()).items.filter(({ reason }) => reason === 'InvalidInput');
  await rig.until(async () => (await said()).length > 0, MINUTE);
  expect((await said())[0]?.message).toBe(
    `metadata.annotations: ${Annotations.CapacityAlternatives}[0].zone: must be a non-empty string`,
  );
});
