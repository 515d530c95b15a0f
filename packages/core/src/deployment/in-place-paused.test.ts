import { Labels, machineSets, UpdateResults } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { rounds, strategy } from './testing/in-place-agents.ts';
import { NAMESPACE, World } from './testing/world.ts';

const labelled = async (world: World): Promise<number> =>
  (await world.keeper.resource(machineSets, NAMESPACE).list()).items.filter(
    ({ metadata }) => metadata.labels?.[Labels.ScaleUpDisabled] !== undefined,
  ).length;

test('a failed machine of an old set is replaced while an in-place rollout is paused', async () => {
  await using world = await World.start(startControlPlane, {});
  await world.deploy(3, strategy('Manual', 0, 1));
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await rounds(world, 2);
  expect(await labelled(world)).toBe(1);
  await world.change({ spec: { paused: true } });
  await world.pass(30);
  expect(await labelled(world)).toBe(0);
  const [old] = await world.machines();
  await world.setPhase(old?.metadata.name ?? '', 'Failed');
  await world.pass(300);
  const after = await world.machines();
  expect(after.map(({ spec }) => spec.class.name)).toEqual(['small', 'small', 'small']);
  expect(after.map(({ metadata }) => metadata.uid)).not.toContain(old?.metadata.uid);
  await world.change({ spec: { paused: false } });
  await rounds(world, 2);
  expect([await labelled(world), (await world.machines()).length]).toEqual([1, 3]);
});

test('an old set with a machine that moves to the new set creates no machine during a pause', async () => {
  await using world = await World.start(startControlPlane, {});
  await world.deploy(3, strategy('Manual', 0, 1));
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await rounds(world, 2);
  const [moving] = await world.machines();
  const labels = { [Labels.UpdateResult]: UpdateResults.Successful };
  await world.patchMachine(moving?.metadata.name ?? '', { metadata: { labels } });
  await world.change({ spec: { paused: true } });
  await world.pass(30);
  expect([await labelled(world), (await world.machines()).length]).toEqual([1, 3]);
});
