import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World } from './testing/world.ts';

async function start(...refused: readonly string[]) {
  const lacking = new Set(refused);
  const world = await World.start(startControlPlane, {
    fault: (request, answer) => {
      const [, resource = ''] = /\/([a-z]+)(\?.*)?$/.exec(request.url) ?? [];
      if (request.method !== 'GET' || !lacking.has(resource)) return answer();
      const message = `${resource} is forbidden: User "u" cannot list resource "${resource}" in API group ""`;
      const body = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message });
      return Promise.resolve(new Response(body, { status: 403 }));
    },
  });
  return { world, lacking };
}

const blocked = async (world: World) =>
  (await world.deployment()).status?.conditions?.find(({ type }) => type === 'RolloutBlocked');

test('without access to nodes it creates, scales and rolls; failed machines and in-place updates wait for the nodes', async () => {
  const { world, lacking } = await start('nodes');
  await using _ = world;
  await world.deploy(2);
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await world.until(async () => world.complete() && (await world.sizes()) === 'large:2 small:0', 120);

  const [failing] = await world.machines();
  await world.setPhase(failing?.metadata.name ?? '', 'Failed');
  const inPlaceUpdate = { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' };
  await world.change({ spec: { strategy: { type: 'InPlaceUpdate', rollingUpdate: null, inPlaceUpdate } } });
  await world.changeClass('huge');
  await world.pass(120);
  expect(world.truth.store.list().map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
  expect(await blocked(world)).toMatchObject({
    reason: 'NodesNotReadable',
    message: expect.stringContaining('this process does not have the permission to list nodes'),
  });

  lacking.clear();
  await world.pass(60);
  expect(world.truth.store.list().some(({ metadata }) => metadata.uid === failing?.metadata.uid)).toBe(false);
  expect(await blocked(world)).toBeUndefined();
});

test('without access to classes a missing class is unknown, so machines are created', async () => {
  const { world } = await start('machineclasses');
  await using _ = world;
  await world.deploy(2);
  await world.until(() => world.complete(), 60);
  expect((await world.deployment()).status?.conditions?.map(({ type }) => type).sort()).toEqual([
    'Available',
    'Progressing',
  ]);
});

test('without access to machines nothing is decided until access returns', async () => {
  const { world, lacking } = await start();
  await using _ = world;
  await world.deploy(1);
  await world.until(() => world.complete(), 60);
  lacking.add('machines');
  // An open watch continues when the server refuses access, and only the next watch fails.
  await world.pass(660);
  await world.deleteMachine((await world.machines())[0]?.metadata.name ?? '');
  await world.change({ spec: { replicas: 3 } });
  await world.pass(120);
  expect(await world.machines()).toEqual([]);
  lacking.clear();
  await world.until(() => world.complete(), 60);
});
