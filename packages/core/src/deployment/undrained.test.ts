import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { deployment, machine, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { rounds, strategy } from './testing/in-place-agents.ts';
import { World, type WorldOptions } from './testing/world.ts';

const DAYS_MS = 30 * 24 * 3_600_000;

const start = (count: number, options: WorldOptions = {}) =>
  World.start(startControlPlane, { ...options, deathMs: (_, index) => (index < count ? DAYS_MS : 100) });

const terminating = async (world: World): Promise<readonly Machine[]> =>
  (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);

async function setAside(world: World): Promise<void> {
  for (const { metadata } of await terminating(world)) {
    await world.patchMachine(metadata.name, { metadata: { annotations: { [Annotations.Undrained]: 'Hold' } } });
  }
}

async function arrived(world: World): Promise<boolean> {
  const { spec, status = {} } = await world.deployment();
  const { replicas, updatedReplicas, availableReplicas } = status;
  return [replicas, updatedReplicas, availableReplicas].every((count) => count === spec.replicas);
}

async function rolled(world: World): Promise<void> {
  await world.changeClass('large');
  await world.until(async () => (await terminating(world)).length > 0, 60);
  await world.pass(60);
}

test.each([
  ['RollingUpdate', { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }],
  ['Recreate', { type: 'Recreate' }],
] as const)('%s: a rollout continues and completes next to a machine whose drain cannot end', async (_, wanted) => {
  await using world = await start(1);
  await world.deploy(3, { strategy: wanted });
  await world.until(() => world.complete(), 60);
  await rolled(world);
  expect(await arrived(world)).toBe(false);
  await setAside(world);
  await world.until(() => arrived(world), 60);
  expect(await world.sizes()).toBe('large:3 small:0');
  expect((await world.deployment()).status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Progressing', reason: 'NewMachineSetAvailable' }),
  );
  expect(await terminating(world)).toHaveLength(1);
});

test('InPlaceUpdate: the place of a machine whose drain cannot end is filled, and the update completes', async () => {
  await using world = await start(1);
  await world.deploy(3, strategy('Auto', 0, 1));
  await world.until(() => world.complete(), 60);
  const [first] = await world.machines();
  await world.changeClass('large');
  await world.deleteMachine(first?.metadata.name ?? '');
  await setAside(world);
  await rounds(world, 30);
  expect([await world.sizes(), await arrived(world)]).toEqual(['large:3 small:0', true]);
  expect(await terminating(world)).toHaveLength(1);
});

test('if terminating machines count, a machine whose drain cannot end counts too', async () => {
  await using world = await start(1);
  await world.deploy(3, {}, { annotations: { [Annotations.CountTerminating]: 'true' } });
  await world.until(() => world.complete(), 60);
  await rolled(world);
  await setAside(world);
  await world.pass(600);
  expect([await arrived(world), await world.sizes()]).toEqual([false, 'large:1 small:2']);
  expect(await world.machines()).toHaveLength(4);
});

test('the history keeps the set of a machine whose drain cannot end, even if its status shows no machines', () => {
  const old = { ...set('old', 0, { className: 'former', age: 90 }), status: { replicas: 0, observedGeneration: 1 } };
  const current = set('new', 1, { age: 5 });
  const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1, observedGeneration: 1 };
  const removed = (left: readonly Machine[]) => {
    const machines = new Map([
      [old.metadata.uid, left],
      [current.metadata.uid, machinesOf(1, 'Running')],
    ]);
    const pool = deployment(1, { revisionHistoryLimit: 0, status });
    const { remove } = planRollout({ deployment: pool, sets: [old, current], machines, creating: () => 0, now: NOW });
    return remove.map(({ metadata }) => metadata.name);
  };
  const held = machine('held', { phase: 'Terminating', deleting: true, undrained: true });
  expect([removed([]), removed([held])]).toEqual([['old'], []]);
});

test('a set is not frozen because of machines whose drain cannot end, and the history keeps their set', async () => {
  await using world = await start(4, { safetyUp: 2, safetyDown: 1 });
  await world.deploy(4, { revisionHistoryLimit: 0 });
  await world.until(() => world.complete(), 60);
  for (const { metadata } of await world.machines()) {
    await world.deleteMachine(metadata.name);
    await world.pass(5);
    await setAside(world);
    await world.pass(5);
  }
  await world.until(() => arrived(world), 60);
  expect((await world.events()).map(({ reason }) => reason)).not.toContain('FrozeMachineSet');
  await world.changeClass('large');
  await world.until(() => arrived(world), 60);
  await world.pass(60);
  expect(await world.sizes()).toBe('large:4 small:0');
  expect(await terminating(world)).toHaveLength(4);
});

test('a failed machine is replaced at the rate of a deployment without a rollout', async () => {
  await using world = await start(1, { safeguards: { maxUnhealthyReplacements: 2 } });
  await world.deploy(4);
  await world.until(() => world.complete(), 60);
  await rolled(world);
  await setAside(world);
  await world.until(() => arrived(world), 60);
  const [one, two] = (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const operation = { lastOperation: { state: 'Failed', type: 'HealthCheck', description: 'gone silent' } };
  for (const machine of [one, two]) await world.setPhase(machine?.metadata.name ?? '', 'Failed', operation);
  const replaced = () =>
    [one, two].every(
      (machine) => world.truth.store.get(`test/${machine?.metadata.name}`)?.metadata.uid !== machine?.metadata.uid,
    );
  let both = false;
  world.truth.onChange(() => {
    const going = world.truth.store.list().filter(({ metadata, status }) => {
      const failed = status?.currentStatus?.phase === 'Failed';
      return failed && metadata.deletionTimestamp !== undefined;
    });
    both ||= going.length === 2;
  });
  await world.until(replaced, 60);
  await world.until(() => arrived(world), 60);
  expect(both).toBe(true);
});
