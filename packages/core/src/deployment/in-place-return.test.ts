import { Labels } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
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

async function agentMayStart(world: World): Promise<void> {
  const [node] = (await world.nodes()).filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate]);
  if (!node) throw new Error('no Node is selected');
  const conditions = [{ type: 'InPlaceUpdate', status: 'True', reason: 'ReadyForUpdate' }];
  await world.keeper
    .resource(nodes)
    .patch(node.metadata.name, { type: 'strategic', body: { status: { conditions } } }, { subresource: 'status' });
}

const isWithdrawal = async (request: Request): Promise<boolean> =>
  request.method === 'PATCH' &&
  new URL(request.url).pathname.includes('/nodes/') &&
  /"remove".*selected-for-update/.test(await request.clone().text());

test.each(['before the way back', 'during the withdrawal'] as const)(
  'an agent that may start %s keeps the selection, although the Machine still shows that the node waits',
  async (moment) => {
    let withdrawals = 0;
    const world: World = await World.start(startControlPlane, {
      fault: async (request, answer) => {
        if ((await isWithdrawal(request)) && withdrawals++ === 0) await agentMayStart(world);
        return answer();
      },
    });
    await using _ = world;
    await world.deploy(2, strategy('Auto', 0, 1));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(2);
    if (moment === 'before the way back') await agentMayStart(world);
    await world.changeClass('small');
    await world.pass(5);
    expect(withdrawals).toBe(moment === 'before the way back' ? 0 : 1);
    const labels = (await world.nodes()).map(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate]);
    expect(labels.filter((label) => label !== undefined)).toHaveLength(1);
  },
);
