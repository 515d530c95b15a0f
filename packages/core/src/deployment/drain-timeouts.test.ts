import { Annotations, machineClasses } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const HOUR = 3_600;

async function start(annotations: Record<string, string>, options: WorldOptions = {}) {
  const given: WorldOptions = { birthMs: () => 10_000, deathMs: () => 10 * HOUR * 1000, ...options };
  const world = await World.start((settings) => startControlPlane(settings), given);
  const body = { metadata: { annotations } };
  await world.keeper.resource(machineClasses, world.namespace).patch('small', { type: 'merge', body });
  await world.deploy(3, rolling(1, 0));
  await world.until(() => world.complete(), HOUR);
  return world;
}

const records = async (world: World): Promise<string[]> =>
  (await world.machines())
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.annotations?.[Annotations.DeletionCause] ?? 'none');

const patches = (world: World): number => world.writes.get('PATCH machines') ?? 0;

test('before the deletion for a rollout, the manager records the cause with the time, if the cause has a timeout', async () => {
  await using world = await start({ [Annotations.RolloutDrainTimeout]: '20m' });
  const before = patches(world);
  await world.changeClass('large');
  await world.until(async () => (await records(world)).length === 1, HOUR);
  expect(patches(world)).toBe(before + 1);
  const [deleted] = (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp);
  expect(await records(world)).toEqual([`Rollout ${deleted?.metadata.deletionTimestamp}`]);
});

test('a scale-in has its own cause, and the timeout of a rollout does not count for it', async () => {
  await using world = await start({ [Annotations.ScaleInDrainTimeout]: '5m' });
  await world.change({ spec: { replicas: 2 } });
  await world.until(async () => (await records(world)).length === 1, HOUR);
  expect((await records(world))[0]).toMatch(/^ScaleIn 2026-/);
  await using other = await start({ [Annotations.RolloutDrainTimeout]: '5m' });
  const before = patches(other);
  await other.change({ spec: { replicas: 2 } });
  await other.until(async () => (await records(other)).length === 1, HOUR);
  expect([await records(other), patches(other)]).toEqual([['none'], before]);
});

test('a machine that changes after the decision is not deleted before the next decision', async () => {
  const answers: number[] = [];
  const fault: WorldOptions['fault'] = async (request, answer) => {
    const text = request.method === 'PATCH' ? await request.clone().text() : '';
    if (!text.includes(Annotations.DeletionCause)) return answer();
    const name = new URL(request.url).pathname.split('/').at(-1) ?? '';
    if (answers.length === 0) await world.patchMachine(name, { metadata: { labels: { changed: 'true' } } });
    const answered = await answer();
    answers.push(answered.status);
    return answered;
  };
  await using world = await start({ [Annotations.ScaleInDrainTimeout]: '5m' }, { fault });
  await world.change({ spec: { replicas: 2 } });
  await world.until(async () => (await records(world)).length === 1, HOUR);
  expect(answers).toEqual([409, 200]);
});

test.each(['lost', 'refused'] as const)(
  'a record whose response is %s: the machine is deleted once, with a record',
  async (kind) => {
    let failures = 0;
    const fault: WorldOptions['fault'] = async (request, answer) => {
      const isRecord = request.method === 'PATCH' && (await request.clone().text()).includes(Annotations.DeletionCause);
      if (!isRecord || failures > 0) return answer();
      failures += 1;
      if (kind === 'lost') await answer();
      throw new TypeError('connection reset');
    };
    await using world = await start({ [Annotations.ScaleInDrainTimeout]: '5m' }, { fault });
    await world.change({ spec: { replicas: 2 } });
    await world.until(async () => (await records(world)).length === 1, HOUR);
    await world.pass(60);
    expect([failures, await records(world)]).toEqual([1, [expect.stringMatching(/^ScaleIn 2026-/)]]);
  },
);
