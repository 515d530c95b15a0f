import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const STAGES = ['before-create', 'after-ready', 'before-drain', 'before-delete'] as const;
const keyOf = (stage: string, name = 'check'): string => `${stage}.${Annotations.HookSuffix}/${name}`;

const machinesOf = (rig: Rig) => rig.admin.resource<Machine>(machines, NAMESPACE);

const define = (rig: Rig, hooks: string | null) =>
  rig.admin
    .resource<MachineClass>(machineClasses, NAMESPACE)
    .patch('small', { type: 'merge', body: { metadata: { annotations: { [Annotations.Hooks]: hooks } } } });

async function started(hooks: string, options: StartOptions = {}): Promise<Rig> {
  const rig = await startRig({ eventTtlMs: 0, ...options });
  await define(rig, hooks);
  return rig;
}

const finish = (rig: Rig, key: string) =>
  machinesOf(rig).patch('m-0', { type: 'merge', body: { metadata: { annotations: { [key]: null } } } });

const waitsAt = async (rig: Rig, key: string): Promise<boolean> =>
  (await rig.machine('m-0'))?.metadata.annotations?.[key] !== undefined;

const runs = (rig: Rig) => rig.until(async () => (await rig.phase('m-0')) === 'Running', 10 * MINUTE);
const gone = (rig: Rig) => rig.until(async () => (await rig.machines()).length === 0, 10 * MINUTE);

const reported = async (rig: Rig, about: string): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === about)
    .map(({ message = '' }) => message);

test.each([false, true])(
  'a machine waits at each stage until the owner of the hook ends it; restarts: %s',
  async (dies) => {
    const rig = await started(STAGES.map((stage) => `${stage} check owner 1h Block`).join('; '));
    const passed = async (stage: string): Promise<void> => {
      const key = keyOf(stage);
      await rig.until(() => waitsAt(rig, key), 10 * MINUTE);
      if (dies) {
        await rig.kill();
        rig.start();
      }
      await rig.clock.advance(5 * MINUTE);
      expect(await waitsAt(rig, key)).toBe(true);
      expect(await rig.description('m-0')).toContain(`aiting for ${stage} hook check of owner, since 20`);
    };
    await rig.createMachine('m-0');
    await passed('before-create');
    expect(rig.cloud.calls.create).toBe(0);
    await finish(rig, keyOf('before-create'));
    await passed('after-ready');
    expect([rig.cloud.calls.create, await rig.phase('m-0')]).toEqual([1, 'Pending']);
    await finish(rig, keyOf('after-ready'));
    await runs(rig);
    await rig.deleteMachine('m-0');
    await passed('before-drain');
    expect((await rig.nodes())[0]?.spec.unschedulable).toBeUndefined();
    await finish(rig, keyOf('before-drain'));
    await passed('before-delete');
    expect([(await rig.nodes())[0]?.spec.unschedulable, rig.cloud.calls.delete]).toEqual([true, 0]);
    await finish(rig, keyOf('before-delete'));
    await gone(rig);
    expect((await reported(rig, 'HooksBegun')).length).toBe(4);
  },
);

test('after its timeout a hook with Continue is skipped with an event, and one with Block is not', async () => {
  const rig = await started('before-drain check owner 10m Continue; before-delete check owner 10m Block');
  await rig.createMachine('m-0');
  await runs(rig);
  await rig.deleteMachine('m-0');
  await rig.until(() => waitsAt(rig, keyOf('before-delete')), 15 * MINUTE);
  expect(await waitsAt(rig, keyOf('before-drain'))).toBe(false);
  await rig.clock.advance(60 * MINUTE);
  expect(rig.cloud.calls.delete).toBe(0);
  expect(await reported(rig, 'HookTimedOut')).toEqual([
    'The machine continues, because the timeout of these before-drain hooks has passed: check of owner',
    expect.stringMatching(/^Still waiting for before-delete hook check of owner, since .* \(the timeout has passed\)$/),
  ]);
});

test('a machine without a VM becomes Failed at its creation timeout, although its hook may not end', async () => {
  const rig = await started('before-create check owner 3h Block');
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 60 * MINUTE);
  expect([rig.cloud.calls.create, await rig.description('m-0')]).toEqual([
    0,
    expect.stringMatching(/^Creation timeout: waiting for before-create hook check of owner/),
  ]);
});

test('a machine whose after-ready hook does not end becomes Failed at its creation timeout', async () => {
  const rig = await started('after-ready check owner 3h Block');
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 60 * MINUTE);
  await rig.clock.advance(5 * MINUTE);
  expect([rig.cloud.calls.create, await rig.phase('m-0')]).toEqual([1, 'Failed']);
  expect(await reported(rig, 'FailedToJoin')).toEqual([
    expect.stringContaining('the after-ready hooks of the machine have not finished'),
  ]);
  await finish(rig, keyOf('after-ready'));
  await runs(rig);
});

test('the label force-deletion ends the wait for hooks', async () => {
  const rig = await started('before-drain check owner 1h Block; before-delete check owner 1h Block');
  await rig.createMachine('m-0');
  await runs(rig);
  await rig.deleteMachine('m-0');
  await rig.until(() => waitsAt(rig, keyOf('before-drain')), MINUTE);
  await machinesOf(rig).patch('m-0', { type: 'merge', body: { metadata: { labels: { 'force-deletion': 'true' } } } });
  await gone(rig);
});

test('a class without the hook ends the wait of its machines', async () => {
  const rig = await started('before-drain check owner 1h Block');
  await rig.createMachine('m-0');
  await runs(rig);
  await rig.deleteMachine('m-0');
  await rig.until(() => waitsAt(rig, keyOf('before-drain')), MINUTE);
  await define(rig, null);
  await gone(rig);
});

test('an invalid hook is reported, and the machine does not wait for it', async () => {
  const rig = await started('before-drain check');
  await rig.createMachine('m-0');
  await runs(rig);
  await rig.clock.advance(MINUTE);
  expect(await reported(rig, 'InvalidInput')).toEqual([
    expect.stringContaining(
      `metadata.annotations[${Annotations.Hooks}] of MachineClass small: entry "before-drain check" is ignored: the owner of the hook is missing`,
    ),
  ]);
  await rig.deleteMachine('m-0');
  await gone(rig);
});

test.each<[what: string, condition: string, afterTimeout: 'Block' | 'Continue', waits: boolean]>([
  ['true', 'machine.labels.tier == "db" && machine.node != ""', 'Continue', true],
  ['false', 'machine.labels.tier == "web"', 'Block', false],
  ['about a missing label, with Continue', 'machine.labels.none == "x"', 'Continue', false],
  ['about a missing label, with Block', 'machine.labels.none == "x"', 'Block', true],
])('a machine waits for a hook whose condition is true: %s', async (_what, condition, afterTimeout, waits) => {
  const rig = await started(`before-drain check owner 1h ${afterTimeout} if ${condition}`);
  await rig.createMachine('m-0', {}, { labels: { tier: 'db' } });
  await runs(rig);
  await rig.deleteMachine('m-0');
  if (!waits) await gone(rig);
  else await rig.until(() => waitsAt(rig, keyOf('before-drain')), 5 * MINUTE);
  await rig.clock.advance(MINUTE);
  expect(await reported(rig, 'HooksBegun')).toHaveLength(waits ? 1 : 0);
});

test('machines without hooks cause no additional write', async () => {
  const rig = await startRig();
  await rig.createMachine('m-0');
  await runs(rig);
  const annotations = Object.keys((await rig.machine('m-0'))?.metadata.annotations ?? {});
  expect(annotations.filter((key) => key.includes('hook'))).toEqual([]);
});
