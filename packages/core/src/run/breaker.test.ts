import { Annotations, type Machine, machines } from '@mcm/api';
import { events } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;

const ready = (status: 'True' | 'Unknown', rig: Rig) => [
  { type: 'Ready', status, reason: 'Test', lastTransitionTime: rig.clock.now().toISOString() },
];

async function outage(): Promise<Rig> {
  const rig = await startRig();
  for (let i = 0; i < 4; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  for (let i = 0; i < 3; i++) await rig.conditions(`m-${i}`, ready('Unknown', rig));
  await rig.clock.advance(15 * MINUTE);
  expect(await phases(rig)).toEqual(['Unknown', 'Unknown', 'Unknown', 'Running']);
  return rig;
}

const phases = async (rig: Rig) => (await rig.machines()).map((m) => m.status?.currentStatus?.phase);

test('without a change no machine is reconciled [#13]', async () => {
  const rig = await outage();
  expect(rig.controller?.idle(24 * 60 * MINUTE)).toBe(true);
});

test('a user deletes one unreachable machine: the others are evaluated within seconds [#13]', async () => {
  const rig = await outage();
  await rig.deleteMachine('m-0');
  const took = await rig.until(async () => (await phases(rig)).includes('Failed'), 10_000);
  expect(took).toBeGreaterThan(1_000);
});

test('two become reachable again: the third is evaluated when they have been so for long enough [#13]', async () => {
  const rig = await outage();
  for (const i of [0, 1]) await rig.conditions(`m-${i}`, ready('True', rig));
  await rig.clock.advance(4 * MINUTE);
  expect(await rig.phase('m-2')).toBe('Unknown');
  await rig.until(async () => (await rig.phase('m-2')) === 'Failed', 3 * MINUTE);
});

describe('a cluster with fewer machines than the breaker needs', () => {
  const HOUR = 60 * MINUTE;

  const lookUps = (rig: Rig): number => rig.cloud.calls.status - rig.cloud.made.length;

  async function allUnreachable(count: number): Promise<Rig> {
    const rig = await startRig();
    for (let i = 0; i < count; i++) await rig.createMachine(`m-${i}`);
    await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
    for (let i = 0; i < count; i++) await rig.conditions(`m-${i}`, ready('Unknown', rig));
    await rig.until(async () => (await phases(rig)).every((phase) => phase === 'Unknown'));
    return rig;
  }

  test('both machines are unreachable and their VMs run: none is replaced, and each VM is looked up once', async () => {
    const rig = await allUnreachable(2);
    await rig.clock.advance(20 * MINUTE);
    const reported = (await rig.admin.resource(events, NAMESPACE).list()).items;
    expect(reported.filter(({ reason }) => reason === 'ReplacementHeld')).toHaveLength(2);
    await rig.clock.advance(3 * HOUR);
    expect(await phases(rig)).toEqual(['Unknown', 'Unknown']);
    expect(lookUps(rig)).toBe(2);
    await rig.conditions('m-0', ready('True', rig));
    await rig.until(async () => (await rig.phase('m-1')) === 'Failed', 10 * MINUTE);
    expect(await rig.phase('m-0')).toBe('Running');
  });

  test('an unreachable machine without a VM is replaced, although its peer is unreachable too', async () => {
    const rig = await allUnreachable(2);
    rig.cloud.lose('m-0');
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 11 * MINUTE);
  });

  test('while the cloud does not answer nothing is replaced, for one more health timeout', async () => {
    const rig = await allUnreachable(2);
    rig.cloud.fail('status', ...Array.from({ length: 100 }, () => ({ code: 'Unavailable' }) as const));
    await rig.clock.advance(19 * MINUTE);
    expect(await phases(rig)).toEqual(['Unknown', 'Unknown']);
    await rig.until(async () => (await phases(rig)).includes('Failed'), 2 * MINUTE);
  });

  test('an operator overrides the breaker of a small cluster', async () => {
    const rig = await allUnreachable(2);
    await rig.clock.advance(HOUR);
    const expiry = new Date(rig.clock.now().getTime() + HOUR).toISOString().replace(/\.\d+/, '');
    const annotations = { [Annotations.BreakerOverride]: `${expiry} they are lost` };
    await rig.admin
      .resource<Machine>(machines, NAMESPACE)
      .patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', MINUTE);
  });

  async function eventsOf(rig: Rig, reason: string): Promise<readonly string[]> {
    await rig.clock.advance(5_000);
    const { items } = await rig.admin.resource(events, NAMESPACE).list();
    return items.flatMap((event) =>
      event.reason === reason ? [`${event.involvedObject.name}: ${event.message}`] : [],
    );
  }

  test('the event of a machine that is not replaced reports that its VM exists', async () => {
    const rig = await allUnreachable(2);
    await rig.clock.advance(20 * MINUTE);
    const held = await eventsOf(rig, 'ReplacementHeld');
    expect(held).toHaveLength(2);
    for (const text of held) expect(text).toContain('In the cloud, the VM of the machine exists.');
  });

  test('an unreachable machine with a stopped VM is replaced, although its peer is unreachable too', async () => {
    const rig = await allUnreachable(2);
    const stopped = rig.cloud.vms.find(({ machineName }) => machineName === 'm-0');
    if (stopped) stopped.ending = 'stopped';
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 11 * MINUTE);
    await rig.until(async () => (await rig.phase('m-1')) === 'Failed', 2 * MINUTE);
    expect(await eventsOf(rig, 'HealthTimeout')).toEqual([
      expect.stringMatching(/^m-0: .*In the cloud, the VM of the machine is stopped\.$/),
      expect.stringMatching(/^m-1: .*In the cloud, the VM of the machine exists\.$/),
    ]);
  });

  test('one unreachable machine of two is replaced after one lookup of its VM', async () => {
    const rig = await allUnreachable(2);
    await rig.conditions('m-1', ready('True', rig));
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 20 * MINUTE);
    expect(lookUps(rig)).toBe(1);
    expect(await eventsOf(rig, 'HealthTimeout')).toEqual([
      expect.stringMatching(/^m-0: .*In the cloud, the VM of the machine exists\.$/),
    ]);
  });

  test.each([
    { vm: 'is there', change: () => undefined, says: 'In the cloud, the VM of the machine exists.' },
    {
      vm: 'is gone',
      change: (rig: Rig) => rig.cloud.lose('m-0'),
      says: 'In the cloud, the VM of the machine does not exist.',
    },
    {
      vm: 'cannot be looked up',
      change: (rig: Rig) => rig.cloud.fail('status', { code: 'Unavailable' }),
      says: 'The cloud did not return the state of the VM of the machine: Unavailable.',
    },
  ])('a machine without peers whose VM $vm is replaced after its health timeout and one look-up', async (row) => {
    const rig = await allUnreachable(1);
    row.change(rig);
    await rig.clock.advance(9 * MINUTE);
    expect([await rig.phase('m-0'), lookUps(rig)]).toEqual(['Unknown', 0]);
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 2 * MINUTE);
    expect(lookUps(rig)).toBe(1);
    expect((await eventsOf(rig, 'HealthTimeout')).map((text) => text.endsWith(row.says))).toEqual([true]);
  });

  test('each time that a machine becomes unreachable has its own lookup', async () => {
    const rig = await allUnreachable(2);
    await rig.clock.advance(12 * MINUTE);
    expect(lookUps(rig)).toBe(2);
    for (const i of [0, 1]) await rig.conditions(`m-${i}`, ready('True', rig));
    await rig.clock.advance(30 * MINUTE);
    for (const i of [0, 1]) await rig.conditions(`m-${i}`, ready('Unknown', rig));
    await rig.clock.advance(12 * MINUTE);
    expect(await phases(rig)).toEqual(['Unknown', 'Unknown']);
    expect(lookUps(rig)).toBe(4);
  });
});
