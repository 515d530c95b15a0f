import { machines } from '@mcm/api';
import { type RestorablePlane, type StoreSnapshot, startRestorablePlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { type StartPlane, World, type WorldOptions } from './testing/world.ts';

async function staged(replicas: number, options: WorldOptions = {}) {
  let plane: RestorablePlane | undefined;
  const startPlane: StartPlane = async (how) => {
    plane = await startRestorablePlane(how);
    return plane;
  };
  const world = await World.start(startPlane, options);
  await world.deploy(replicas);
  await world.until(() => world.complete(), 60);
  if (!plane) throw new Error('the world has no plane');
  return { world, plane };
}

const uids = async (world: World): Promise<readonly string[]> =>
  (await world.machines()).map(({ metadata }) => metadata.uid).sort();

test('a manager that outlives the restore sees the older fleet at once and does not change it', async () => {
  const { world, plane } = await staged(3);
  await using _ = world;
  const before = await uids(world);
  const backup = plane.snapshot();
  await world.change({ spec: { replicas: 10 } });
  await world.until(() => world.complete(), 60);
  await plane.restore(backup);
  world.writes.clear();
  await world.pass(2);
  expect(world.context.machines.store.size).toBe(3);
  await world.pass(300);
  expect(await uids(world)).toEqual(before);
  expect([...world.writes.keys()].filter((write) => /^(POST|DELETE) machines$/.test(write))).toEqual([]);
});

test('no machine is deleted before all caches have the same history: the sets are older, the machines not yet', async () => {
  let slow: PromiseWithResolvers<void> | undefined;
  const { world, plane } = await staged(3, {
    fault: async (request, answer) => {
      const { pathname, searchParams } = new URL(request.url);
      if (slow && pathname.endsWith('/machines') && !searchParams.has('watch')) await slow.promise;
      return answer();
    },
  });
  await using _ = world;
  const before = await uids(world);
  const backup = plane.snapshot();
  await world.change({ spec: { replicas: 10 } });
  await world.until(() => world.complete(), 60);
  slow = Promise.withResolvers();
  await plane.restore(backup);
  world.writes.clear();
  await world.pass(30);
  expect([...world.writes.keys()].filter((write) => write.includes('machines'))).toEqual([]);
  slow.resolve();
  await world.pass(60);
  expect(await uids(world)).toEqual(before);
});

test('a deletion from before the restore whose answer was lost is not sent again', async () => {
  let backup: StoreSnapshot | undefined;
  let plane: RestorablePlane | undefined;
  const stage = await staged(3, {
    fault: async (request, answer) => {
      if (request.method !== 'DELETE' || !backup) return answer();
      const snapshot = backup;
      backup = undefined;
      await plane?.restore(snapshot);
      throw new Error('read ECONNRESET');
    },
  });
  const { world } = stage;
  plane = stage.plane;
  await using _ = world;
  const before = await uids(world);
  backup = plane.snapshot();
  await world.change({ spec: { replicas: 2 } });
  await world.pass(300);
  expect((await world.deployment()).spec.replicas).toBe(3);
  expect(await uids(world)).toEqual(before);
});

test('a machine that is created just after a restore is the only one, although the cache still misses a machine', async () => {
  let backup: StoreSnapshot | undefined;
  let plane: RestorablePlane | undefined;
  const stage = await staged(3, {
    fault: async (request, answer) => {
      if (request.method !== 'POST' || !request.url.endsWith('/machines') || !backup) return answer();
      const snapshot = backup;
      backup = undefined;
      await plane?.restore(snapshot);
      return answer();
    },
  });
  const { world } = stage;
  plane = stage.plane;
  await using _ = world;
  const before = await uids(world);
  backup = plane.snapshot();
  const [machine] = await world.machines();
  world.writes.clear();
  await world.keeper.resource(machines, world.namespace).delete(machine?.metadata.name ?? '');
  await world.pass(300);
  expect(world.writes.get('POST machines')).toBe(1);
  expect(await uids(world)).toEqual(before);
});
