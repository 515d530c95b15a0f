import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OF_BROKEN = { class: { kind: 'MachineClass', name: 'broken' } };

const classes = (rig: Rig) => rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);

async function started(options: StartOptions = {}): Promise<Rig> {
  const rig = await startRig({ eventTtlMs: 0, ...options });
  await rig.createClass('broken', 'hello', { providerSpec: { size: 7 } });
  return rig;
}

const refused = async (rig: Rig, name = 'm-0'): Promise<void> => {
  await rig.createMachine(name, OF_BROKEN);
  await rig.until(async () => (await rig.phase(name)) === 'CrashLoopBackOff', MINUTE);
};

const isNoted = async (rig: Rig): Promise<boolean> =>
  (await rig.machine('m-0'))?.metadata.annotations?.[Annotations.NoCreateCall] === 'true';

const gone = (rig: Rig, maxMs: number) => rig.until(async () => (await rig.machines()).length === 0, maxMs);

const force = (rig: Rig) =>
  rig.admin
    .resource<Machine>(machines, NAMESPACE)
    .patch('m-0', { type: 'merge', body: { metadata: { labels: { 'force-deletion': 'true' } } } });

const reported = async (rig: Rig, about: string): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === about)
    .map(({ message = '' }) => message);

test('a machine of a class that was never valid is deleted at once: no call for a VM was ever sent', async () => {
  const rig = await started();
  await refused(rig);
  await rig.deleteMachine('m-0');
  await gone(rig, MINUTE);
  expect([rig.cloud.calls.status, rig.cloud.calls.create, rig.cloud.calls.delete]).toEqual([0, 0, 0]);
});

test('a machine without a create call is also deleted at once after a restart', async () => {
  const rig = await started();
  await refused(rig);
  await rig.until(() => isNoted(rig), MINUTE);
  await rig.kill();
  await rig.deleteMachine('m-0');
  rig.start();
  await gone(rig, MINUTE);
  expect(await reported(rig, 'VMUnknown')).toEqual([]);
});

test('the note is removed before the first call, so after a lost answer there is none', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await refused(rig);
  await rig.until(() => isNoted(rig), MINUTE);
  rig.cloud.fail('create', { code: 'Unavailable', after: true });
  const made = rig.cloud.made;
  await classes(rig).patch('broken', { type: 'merge', body: { providerSpec: { size: 'small' } } });
  await rig.until(async () => made.length === 1, HOUR);
  expect(await isNoted(rig)).toBe(false);
  await rig.kill();
  await rig.deleteMachine('m-0');
  rig.start();
  await gone(rig, HOUR);
  expect(rig.cloud.vms).toEqual([]);
});

test('a machine of an earlier process may have a VM: the status reports what is unknown', async () => {
  const rig = await started();
  await rig.kill();
  await rig.createMachine('m-0', OF_BROKEN);
  rig.start();
  await rig.until(async () => (await rig.phase('m-0')) === 'CrashLoopBackOff', MINUTE);
  expect(await isNoted(rig)).toBe(false);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(HOUR);
  expect(await rig.description('m-0')).toMatch(
    /^mcm cannot determine whether the machine has a VM\. Correct the class or Secret, or set the label/,
  );
  expect(await rig.machine('m-0')).toBeDefined();
  await force(rig);
  await gone(rig, MINUTE);
  await rig.clock.advance(2_000);
  expect(await reported(rig, 'VMUnknown')).toEqual([
    expect.stringMatching(/^mcm deletes machine m-0 because of force-deletion, but its VM may remain/),
  ]);
});

test('force-deletion deletes a VM that is on record', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.kill();
  await rig.createMachine('m-0', { ...OF_BROKEN, providerID: rig.cloud.plant('m-0').providerId });
  rig.start();
  await force(rig);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(HOUR);
  expect([(await rig.machines()).length, rig.cloud.vms.length]).toEqual([1, 1]);
  await classes(rig).patch('broken', { type: 'merge', body: { providerSpec: { size: 'small' } } });
  await gone(rig, HOUR);
  expect([rig.cloud.vms, await reported(rig, 'VMUnknown')]).toEqual([[], []]);
});

test('the deletion waits for a cloud that does not answer, also with force-deletion', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  rig.cloud.fail('delete', ...Array(5).fill({ code: 'Unavailable' }));
  await force(rig);
  await rig.deleteMachine('m-0');
  await gone(rig, HOUR);
  expect(rig.cloud.vms).toEqual([]);
});

describe('the cloud never accepted the credentials of the class', () => {
  const strangers = () => started({ cloud: { accepts: () => false } });
  const refusedOnce = async (rig: Rig): Promise<void> => {
    await rig.createMachine('m-0');
    await rig.until(async () => (await rig.phase('m-0')) === 'CrashLoopBackOff', MINUTE);
  };

  test('a machine without a VM is deleted at once, also after a restart: the VM was looked up, and no call for one was sent', async () => {
    for (const restarts of [false, true]) {
      const rig = await strangers();
      await refusedOnce(rig);
      await rig.until(() => isNoted(rig), MINUTE);
      if (restarts) await rig.kill();
      await rig.deleteMachine('m-0');
      if (restarts) rig.start();
      await gone(rig, MINUTE);
      expect([rig.cloud.calls.create, await reported(rig, 'VMUnknown')]).toEqual([0, []]);
    }
  });

  test('force-deletion deletes a machine of an earlier process, and an event reports the unknown VM', async () => {
    const rig = await strangers();
    await rig.kill();
    await rig.createMachine('m-0');
    rig.start();
    await rig.deleteMachine('m-0');
    await rig.clock.advance(HOUR);
    expect(await rig.description('m-0')).toMatch(
      /^mcm cannot determine whether the machine has a VM\..*Unauthenticated/,
    );
    await force(rig);
    await gone(rig, MINUTE);
    await rig.clock.advance(2_000);
    expect(await reported(rig, 'VMUnknown')).toEqual([
      expect.stringMatching(/^mcm deletes machine m-0 because of force-deletion/),
    ]);
  });

  test('a machine with a recorded VM waits for valid credentials, also with force-deletion', async () => {
    let revoked = false;
    const rig = await started({ joinAfterMs: undefined, cloud: { accepts: () => !revoked } });
    await rig.createMachine('m-0');
    await rig.until(async () => (await rig.machine('m-0'))?.spec.providerID !== undefined, MINUTE);
    revoked = true;
    await force(rig);
    await rig.deleteMachine('m-0');
    await rig.clock.advance(HOUR);
    expect([(await rig.machines()).length, rig.cloud.vms.length]).toEqual([1, 1]);
    revoked = false;
    await gone(rig, HOUR);
    expect([rig.cloud.vms, await reported(rig, 'VMUnknown')]).toEqual([[], []]);
  });
});
