import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World } from './testing/world.ts';

test('three machines are born, and then nothing is written', async () => {
  await using world = await World.start(startControlPlane);
  await world.deploy(3);
  await world.until(() => world.complete(), 60);
  const set = (await world.sets())[0];
  expect(set?.metadata.name).toMatch(/^pool-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  for (const machine of await world.machines())
    expect(machine.metadata.name).toMatch(new RegExp(`^${set?.metadata.name}-.{5}$`));
  const { status } = await world.deployment();
  expect(status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`).sort()).toEqual([
    'Available=True/MinimumReplicasAvailable',
    'Progressing=True/NewMachineSetAvailable',
  ]);
  await world.pass(5);
  const before = world.totalWrites();
  await world.pass(1800);
  expect(world.totalWrites()).toBe(before);
});
