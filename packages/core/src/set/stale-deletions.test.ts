import { startControlPlane } from '@mcm/control-plane';
import { sleep } from '@mcm/kube';
import { expect, test } from 'vitest';
import { World } from '../deployment/testing/world.ts';
import { delayedWatch } from '../testing/delayed-watch.ts';

const isDeletion = ({ method, url }: Request): boolean => method === 'DELETE' && /\/machines\//.test(url);

async function start(once: (world: World) => Promise<void>, { loses = false, replicas = 2 } = {}) {
  let isLate = false;
  let deletions = 0;
  const world: World = await World.start(startControlPlane, {
    birthMs: (_machine, index) => (index < replicas ? 100 : undefined),
    fault: async (request, answer, clock) => {
      if (request.url.includes('watch=true') && /\/machines\?/.test(request.url)) {
        return delayedWatch(await answer(), () => sleep(clock, isLate ? 300 : 0));
      }
      if (isDeletion(request) && deletions++ === 0) {
        isLate = true;
        await once(world);
        if (loses) throw new TypeError('connection refused');
      }
      return answer();
    },
  });
  await world.deploy(2);
  await world.until(() => world.complete(), 60);
  return { world, deletions: () => deletions };
}

const names = async (world: World) => (await world.machines()).map(({ metadata }) => metadata.name).sort();
const alive = async (world: World) =>
  (await world.machines())
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);

test('Failed machines that recover before their deletion arrives stay, including the second one', async () => {
  const recover = async (world: World) => {
    for (const name of await names(world)) await world.setPhase(name, 'Running');
  };
  const { world, deletions } = await start(recover);
  await using _ = world;
  const before = await names(world);
  for (const name of before) await world.setPhase(name, 'Failed');
  await world.pass(30);
  expect(deletions()).toBeGreaterThan(0);
  expect([await alive(world), world.available()]).toEqual([before, 2]);
});

test('a lost deletion is not repeated for a machine that has recovered since', async () => {
  const { world, deletions } = await start(
    async (it) => {
      for (const name of await names(it)) await it.setPhase(name, 'Running');
    },
    { loses: true },
  );
  await using _ = world;
  const before = await names(world);
  await world.setPhase(before[0] ?? '', 'Failed');
  await world.pass(30);
  expect(deletions()).toBeGreaterThan(1);
  expect(await alive(world)).toEqual(before);
});

test('a surplus machine that joined before its deletion arrives is evaluated again: the one that failed is deleted', async () => {
  const { world } = await start(async (it) => {
    const [first = '', , third = ''] = await names(it);
    await it.setPhase(third, 'Running');
    await it.setPhase(first, 'Failed');
  });
  await using _ = world;
  await world.change({ spec: { replicas: 3 } });
  await world.pass(5);
  const [first, second, third] = await names(world);
  await world.setPhase(third ?? '', 'Pending');
  await world.pass(1);
  await world.change({ spec: { replicas: 2 } });
  await world.pass(30);
  expect(await alive(world)).toEqual([second, third]);
  expect(await alive(world)).not.toContain(first);
});
