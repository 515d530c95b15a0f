import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { rounds, strategy } from './testing/in-place-agents.ts';
import { World } from './testing/world.ts';

test.each([
  ['Auto', 2, 1],
  ['Auto', 3, 3],
  ['Manual', 2, 1],
] as const)(
  '%s: if all of %i machines (maxUnavailable %i) are deleted after a change of the template, new ones are created',
  async (orchestration, replicas, unavailable) => {
    await using world = await World.start(startControlPlane);
    await world.deploy(replicas, strategy(orchestration, 0, unavailable));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(1);
    for (const { metadata } of await world.machines()) await world.deleteMachine(metadata.name);
    await rounds(world, 20);
    expect(await world.sizes()).toBe(`large:${replicas} small:0`);
  },
);
