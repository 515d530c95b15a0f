import { type Machine, type MachineSet, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { sleep } from '@mcm/kube';
import { expect, test } from 'vitest';
import { World } from '../deployment/testing/world.ts';

const UPDATE_MS = 2_000;

async function start(replicas: number, unavailable: number, largeMs?: number): Promise<World> {
  const world = await World.start(startControlPlane, {
    birthMs: ({ spec }) => (spec.class.name === 'large' ? largeMs : 100),
    deathMs: () => 100,
    fault: async ({ method, url }, answer, clock) => {
      if (method === 'PUT' && /\/machinesets\/[^/]+$/.test(url)) await sleep(clock, UPDATE_MS);
      return answer();
    },
  });
  const limits = { maxSurge: 1, maxUnavailable: unavailable };
  await world.deploy(replicas, { strategy: { type: 'RollingUpdate', rollingUpdate: limits } });
  await world.until(() => world.complete(), 60);
  return world;
}

const resize = (world: World, set: MachineSet | undefined, replicas: number) =>
  world.keeper
    .resource(machineSets, world.namespace)
    .patch(set?.metadata.name ?? '', { type: 'merge', body: { spec: { replicas } } });

const runs = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && status?.currentStatus?.phase === 'Running';

async function takeOver(world: World, size: number, replicas: number): Promise<number> {
  await world.stop();
  const [set] = await world.sets();
  await resize(world, set, size);
  await world.change({ spec: { replicas } });
  let least = Number.POSITIVE_INFINITY;
  world.truth.onChange(() => {
    least = Math.min(least, world.truth.store.list().filter(runs).length);
  });
  await world.restart();
  await world.pass(30);
  return least;
}

test.each([
  [0, 3, 0],
  [2, 3, 0],
  [1, 3, 1],
])(
  'a size %i of a former leader deletes no machine that the user requested again',
  async (size, replicas, unavailable) => {
    await using world = await start(4, unavailable);
    expect(await takeOver(world, size, replicas)).toBe(replicas - unavailable);
    expect([world.available(), world.complete()]).toEqual([replicas, true]);
  },
);

async function rollOut(birthMs: number | undefined): Promise<World> {
  const world = await start(2, 0, birthMs);
  await world.changeClass('large');
  await world.until(async () => (await world.sizes()) === 'large:1 small:2', 60);
  await world.stop();
  const old = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'small');
  await resize(world, old, 0);
  await world.restart();
  await world.pass(60);
  return world;
}

test('a set deletes its surplus machines after another set of the deployment has grown', async () => {
  await using world = await rollOut(100);
  expect([await world.sizes(), world.available(), world.complete()]).toEqual(['large:2 small:0', 2, true]);
});

test('while new machines do not join, the surplus machines stay, and a rollback uses these machines', async () => {
  await using world = await rollOut(undefined);
  expect([await world.sizes(), world.available()]).toEqual(['large:1 small:0', 2]);
  const before = (await world.machines()).filter(runs).map(({ metadata }) => metadata.name);
  await world.changeClass('small');
  await world.pass(60);
  expect([await world.sizes(), world.complete()]).toEqual(['large:0 small:2', true]);
  expect((await world.machines()).map(({ metadata }) => metadata.name)).toEqual(before);
});

test('a set with an outdated size keeps its surplus machines until the new machines of another set are available', async () => {
  const birthMs = (_machine: Machine, index: number) => (index < 4 ? 100 : undefined);
  await using world = await World.start(startControlPlane, { birthMs, deathMs: () => 100 });
  await world.deploy(3, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } });
  await world.until(() => world.complete(), 60);
  await world.stop();
  const [set] = await world.sets();
  await resize(world, set, 0);
  await world.changeClass('large');
  await world.restart();
  await world.pass(60);
  expect([await world.sizes(), world.available()]).toEqual(['large:2 small:0', 2]);
});
