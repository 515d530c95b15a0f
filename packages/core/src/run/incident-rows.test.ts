import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import { events, pods } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../driver/contract/errors.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  return startRig(options);
}

const warnings = async (rig: Rig, name: string): Promise<string[]> =>
  (await rig.admin.resource(events, NAMESPACE).list()).items
    .filter(({ involvedObject, type }) => involvedObject.name === name && type === 'Warning')
    .map(({ reason }) => reason ?? '');

test('a VM that cannot be created and a node that does not join have different descriptions, codes and events [incident 26]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('lonely');
  await rig.until(async () => (await rig.phase('lonely')) === 'Failed', HOUR);
  expect((await rig.machine('lonely'))?.status?.lastOperation).toMatchObject({
    description: 'Machine lonely failed to join the cluster in 20m0s minutes.',
    state: 'Failed',
    type: 'Create',
  });
  expect((await rig.machine('lonely'))?.status?.lastOperation?.errorCode).toBeUndefined();
  rig.cloud.fail('create', { code: 'Internal', message: 'no image' });
  await rig.createMachine('unmade');
  await rig.until(async () => (await rig.phase('unmade')) === 'CrashLoopBackOff', MINUTE);
  expect((await rig.machine('unmade'))?.status?.lastOperation).toMatchObject({
    description: 'Cloud provider message - machine codes error: code = [Internal] message = [no image]',
    errorCode: 'Internal',
  });
  await rig.clock.advance(5_000);
  expect(await warnings(rig, 'lonely')).toContain('FailedToJoin');
  expect(await warnings(rig, 'unmade')).toEqual(['CreationFailed']);
});

test('a class that became invalid without a controller blocks a deletion only at the cloud call, which names the field; after its correction the machine is deleted at once [incident 27]', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('a', 'm-0');
  const classes = rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
  await rig.kill();
  await classes.patch('small', { type: 'merge', body: { providerSpec: { size: 7 } } });
  rig.start();
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.nodes())[0]?.spec.unschedulable === true, MINUTE);
  await rig.clock.advance(2_000);
  expect(await rig.description('m-0')).toContain('default/a');
  await rig.admin.resource(pods, NAMESPACE).delete('a', { gracePeriodSeconds: 0 });
  await rig.until(async () => (await rig.description('m-0')).includes('providerSpec.size'), MINUTE);
  expect((await rig.machine('m-0'))?.status?.lastOperation?.state).toBe('Failed');
  await classes.patch('small', { type: 'merge', body: { providerSpec: { size: 'small' } } });
  await rig.until(async () => (await rig.machine('m-0')) === undefined, 5_000);
  expect(rig.cloud.vms).toEqual([]);
});

test.each([
  ['in the same process', false],
  ['in the next process', true],
])(
  'incident 27: an invalid class does not delay a deletion, %s: its last valid spec is used',
  async (_when, restart) => {
    const rig = await started();
    const classes = rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
    const edit = (size: unknown) => classes.patch('small', { type: 'merge', body: { providerSpec: { size } } });
    await edit('large');
    for (const name of ['m-0', 'm-1']) await rig.createMachine(name);
    await rig.until(async () => (await rig.phase('m-0')) === 'Running' && (await rig.phase('m-1')) === 'Running');
    await edit(7);
    await rig.clock.advance(1_000);
    if (restart) {
      await rig.kill();
      rig.start();
    }
    const kept = async () => (await classes.get('small')).metadata.annotations?.[Annotations.FormerProviderSpec];
    expect(await kept()).toBe('{"size":"large"}');
    await rig.deleteMachine('m-0');
    await rig.until(async () => (await rig.machine('m-0')) === undefined, 5_000);
    expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m-1']);

    await rig.createMachine('m-2');
    await rig.until(async () => (await rig.description('m-2')).includes('providerSpec.size'), MINUTE);
    await edit('small');
    await rig.until(async () => (await rig.phase('m-2')) === 'Running', MINUTE);
    expect(await kept()).toBeUndefined();
  },
);

test('a quota error keeps its category and the text of the cloud through retries and a restart [incident 29]', async () => {
  let short = true;
  const rig = await started({
    cloud: {
      gate: (method, point) => {
        if (method === 'create' && point === 'before' && short)
          throw new MachineError('ResourceExhausted', 'Quota [CPUS] exceeded: limit [24] in region eu');
      },
    },
  });
  await rig.createMachine('m-0', { creationTimeout: '5h' });
  const said = async () => (await rig.machine('m-0'))?.status?.lastOperation;
  await rig.until(async () => (await said())?.errorCode === 'ResourceExhausted', MINUTE);
  const words = 'code = [ResourceExhausted] message = [Quota [CPUS] exceeded: limit [24] in region eu]';
  for (let i = 0; i < 3; i++) {
    expect(await said()).toMatchObject({ errorCode: 'ResourceExhausted', state: 'Failed', type: 'Create' });
    expect((await said())?.description).toContain(words);
    const asked = rig.cloud.calls.create;
    if (i === 1) {
      await rig.kill();
      rig.start();
    }
    await rig.until(async () => rig.cloud.calls.create > asked, HOUR);
    await rig.clock.advance(1_000);
  }
  await rig.clock.advance(5_000);
  expect(await warnings(rig, 'm-0')).toContain('CreationFailed');
  short = false;
  await rig.until(async () => (await rig.phase('m-0')) === 'Running', HOUR);
  expect((await said())?.errorCode).toBeUndefined();
});

test('a driver that throws an unexpected error is reported as faulty once, after five attempts [R43]', async () => {
  let broken = true;
  const rig = await started({
    cloud: {
      gate: (method, point) => {
        if (broken && method === 'delete' && point === 'before') throw new TypeError("reading 'id' of undefined");
      },
    },
  });
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  await rig.deleteMachine('m');
  const faults = async () =>
    (await rig.admin.resource(events, NAMESPACE).list()).items
      .filter(({ reason }) => reason === 'DriverFault')
      .map(({ involvedObject, message, count }) => `${involvedObject.name} ${count}: ${message}`);
  await rig.until(async () => rig.cloud.calls.delete === 4, HOUR);
  await rig.clock.advance(2_000);
  expect(await faults()).toEqual([]);
  await rig.clock.advance(20 * MINUTE);
  expect(await faults()).toEqual([
    expect.stringMatching(
      /^m 1: delete failed 5 times with an unexpected error: .*reading 'id' of undefined\. mcm retries; fix driver fake$/,
    ),
  ]);
  broken = false;
  await rig.until(async () => (await rig.machine('m')) === undefined, 5 * MINUTE);
});

test('an error of the cloud is not a fault of the driver, however often it occurs [R43]', async () => {
  const rig = await started();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  rig.cloud.fail('delete', ...Array(10).fill({ code: 'Unknown' }));
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.machine('m')) === undefined, HOUR);
  expect(await warnings(rig, 'm')).not.toContain('DriverFault');
});
