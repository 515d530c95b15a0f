import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { expectClean, rounds, strategy, uids } from './testing/in-place-agents.ts';
import { World } from './testing/world.ts';

async function interrupted(writesAfter: number, template: string, paused: boolean): Promise<World> {
  let left = Number.POSITIVE_INFINITY;
  const world: World = await World.start(startControlPlane, {
    fault: async (request, answer) => {
      const moves = request.method === 'PATCH' && (await request.clone().text()).includes('ownerReferences');
      const response = await answer();
      if (moves && left === Number.POSITIVE_INFINITY) left = writesAfter;
      if (request.method !== 'GET' && left-- === 0) {
        if (paused) await world.change({ spec: { paused: true } });
        await world.changeClass(template);
      }
      return response;
    },
  });
  await world.deploy(2, strategy('Auto', 0, 1));
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await rounds(world, 6);
  return world;
}

test.each([
  ['the move', 0, 'small'],
  ['the new size of its old set', 1, 'small'],
  ['the new size of its new set', 2, 'small'],
  ['the new size of its old set', 1, 'huge'],
] as const)(
  'another template right after %s (%i writes later, to %s): every machine is updated again',
  async (_, writesAfter, template) => {
    await using world = await interrupted(writesAfter, template, false);
    const before = await uids(world);
    await rounds(world, 12);
    expect(await world.sizes()).toMatch(new RegExp(`${template}:2`));
    expect([await uids(world), world.complete()]).toEqual([before, true]);
    await expectClean(world);
  },
);

test('a pause right after a move, and the way back: no machine is created, and every machine is updated again', async () => {
  await using world = await interrupted(0, 'small', true);
  const before = await uids(world);
  expect(before).toHaveLength(2);
  expect(await world.sizes()).toBe('large:1 small:1');
  await world.change({ spec: { paused: false } });
  await rounds(world, 12);
  expect([await uids(world), await world.sizes(), world.complete()]).toEqual([before, 'large:0 small:2', true]);
  await expectClean(world);
});
