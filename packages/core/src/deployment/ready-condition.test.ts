import { type MachineDeployment, MachineDeploymentConditions, machineDeployments } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { findCondition } from '../objects/conditions.ts';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const MINUTE = 60_000;
const { Ready, Stalled } = MachineDeploymentConditions;

/** Computes the status of an object as the library kstatus documents it for custom resources. */
function kstatus({ metadata, status }: MachineDeployment): 'Current' | 'InProgress' | 'Failed' {
  const is = (type: string) => status?.conditions?.find((condition) => String(condition.type) === type)?.status;
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation)
    return 'InProgress';
  if (is('Reconciling') === 'True') return 'InProgress';
  if (is('Stalled') === 'True') return 'Failed';
  const ready = is('Ready');
  return ready === undefined || ready === 'True' ? 'Current' : 'InProgress';
}

const start = (options: WorldOptions = {}) =>
  World.start(startControlPlane, {
    readyCondition: true,
    birthMs: () => 2 * MINUTE,
    deathMs: () => 1_000,
    ...options,
  });

const ready = async (world: World) => findCondition((await world.deployment()).status?.conditions ?? [], Ready);
const stalled = async (world: World) => findCondition((await world.deployment()).status?.conditions ?? [], Stalled);
const result = async (world: World) => kstatus(await world.deployment());

test('a deployment is in progress until all machines are available, and during a rollout', async () => {
  await using world = await start();
  await world.deploy(2, rolling(1, 0));
  await world.pass(10);
  expect(await ready(world)).toMatchObject({
    status: 'False',
    reason: 'Incomplete',
    message: '2 of 2 machines have the current template. 0 of 2 machines are available.',
  });
  expect(await result(world)).toBe('InProgress');
  await world.until(() => world.complete(), 3_600);
  await world.pass(5);
  expect([(await ready(world))?.status, (await ready(world))?.reason, await result(world)]).toEqual([
    'True',
    'Complete',
    'Current',
  ]);
  await world.changeClass('large');
  await world.pass(10);
  expect([(await ready(world))?.reason, await result(world)]).toEqual(['Incomplete', 'InProgress']);
  await world.until(() => world.complete(), 3_600);
  await world.pass(5);
  expect(await result(world)).toBe('Current');
});

test('between a change of the spec and its first reconcile, the observed generation says that it is in progress', async () => {
  await using world = await start();
  await world.deploy(1);
  await world.until(() => world.complete(), 3_600);
  await world.pass(5);
  const { metadata, ...rest } = await world.deployment();
  expect(kstatus({ ...rest, metadata })).toBe('Current');
  expect(kstatus({ ...rest, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } })).toBe(
    'InProgress',
  );
});

test('a missing class stalls the deployment until the class exists, or the template names another one', async () => {
  await using world = await start();
  await world.deploy(1, { progressDeadlineSeconds: 600 });
  await world.until(() => world.complete(), 3_600);
  await world.changeClass('missing');
  await world.pass(10);
  expect(await stalled(world)).toMatchObject({ status: 'True', reason: 'InvalidSpec' });
  expect([(await ready(world))?.reason, await result(world)]).toEqual(['Stalled', 'Failed']);
  await world.changeClass('large');
  await world.pass(10);
  expect([await stalled(world), await result(world)]).toEqual([undefined, 'InProgress']);
});

test('a rollout without progress until its deadline is stalled', async () => {
  await using world = await start({
    birthMs: (machine) => (machine.spec.class.name === 'large' ? 24 * 60 * MINUTE : 1_000),
  });
  await world.deploy(1, { progressDeadlineSeconds: 600, ...rolling(1, 0) });
  await world.until(() => world.complete(), 3_600);
  await world.changeClass('large');
  await world.pass(900);
  expect(await stalled(world)).toMatchObject({ status: 'True', reason: 'ProgressDeadlineExceeded' });
  expect(await result(world)).toBe('Failed');
});

test('without the flag, a deployment has neither condition, and those of an earlier process are removed', async () => {
  await using world = await start({ readyCondition: false });
  await world.deploy(1);
  await world.until(() => world.complete(), 3_600);
  expect([await ready(world), await stalled(world)]).toEqual([undefined, undefined]);
  const { status } = await world.deployment();
  const conditions = [...(status?.conditions ?? []), { type: Ready, status: 'True' }];
  const client = world.keeper.resource(machineDeployments, world.namespace);
  const body = { status: { conditions } };
  await client.patch('pool', { type: 'merge', body }, { subresource: 'status' });
  await world.restart();
  await world.pass(10);
  expect(await ready(world)).toBeUndefined();
});
