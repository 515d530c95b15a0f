import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { causeIn, causeText, type DeletionCause } from '../set/replicas/deletion-cause.ts';
import { World } from './testing/world.ts';

async function running(replicas: number): Promise<World> {
  const world = await World.start(startControlPlane, {});
  await world.deploy(replicas);
  await world.until(() => world.complete(), 120);
  return world;
}

async function reported(world: World, names: readonly string[]): Promise<readonly (string | undefined)[]> {
  const events = (await world.events()).filter(({ reason }) => reason === 'SuccessfulDelete');
  return names.map((name) => events.flatMap(({ message }) => causeIn(message ?? '', name) ?? [])[0]);
}

const namesOf = async (world: World): Promise<string[]> =>
  (await world.machines()).map(({ metadata }: Machine) => metadata.name).sort();

const missing = async (world: World, before: readonly string[]): Promise<string[]> => {
  const left = new Set(await namesOf(world));
  return before.filter((name) => !left.has(name));
};

describe('the event of a deletion names its cause', () => {
  test('a scale-down', async () => {
    await using world = await running(3);
    const before = await namesOf(world);
    await world.change({ spec: { replicas: 1 } });
    await world.until(async () => (await namesOf(world)).length === 1, 120);
    expect(await reported(world, await missing(world, before))).toEqual(['scale-down', 'scale-down']);
  });

  test('a rollout', async () => {
    await using world = await running(2);
    const before = await namesOf(world);
    await world.changeClass('large');
    await world.until(async () => (await missing(world, before)).length === 2, 300);
    expect(await reported(world, before)).toEqual(['rollout', 'rollout']);
  });

  test('a scale-down during a paused rollout is the cause, in any set', async () => {
    await using world = await running(3);
    const before = await namesOf(world);
    await world.changeClass('large');
    await world.change({ spec: { paused: true } });
    await world.pass(30);
    await world.change({ spec: { replicas: 1 } });
    await world.until(async () => (await missing(world, before)).length > 0, 300);
    expect(new Set(await reported(world, await missing(world, before)))).toEqual(new Set(['scale-down']));
  });

  test('a failed machine', async () => {
    await using world = await running(2);
    const before = await namesOf(world);
    await world.setPhase(before[0] ?? '', 'Failed');
    await world.until(async () => (await missing(world, before)).length === 1, 120);
    expect(await reported(world, [before[0] ?? ''])).toEqual(['unhealthy']);
  });

  test('the autoscaler is the cause for a machine that it named', async () => {
    await using world = await running(3);
    const before = await namesOf(world);
    const named = before[1] ?? '';
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: named } }, spec: { replicas: 2 } });
    await world.until(async () => (await missing(world, before)).length === 1, 120);
    expect(await missing(world, before)).toEqual([named]);
    expect(await reported(world, [named])).toEqual(['autoscaler']);
  });

  test('a deleted deployment is a cause, and a machine that a user deletes has none', async () => {
    await using world = await running(2);
    const [first = '', second = ''] = await namesOf(world);
    await world.deleteMachine(first);
    await world.until(() => world.complete(), 120);
    expect(await reported(world, [first])).toEqual([undefined]);
    await world.remove();
    await world.until(async () => (await namesOf(world)).length === 0, 300);
    expect(await reported(world, [second])).toEqual(['owner deleted']);
  });
});

test('each name is read with its cause from the written annotation; an unknown name has no cause', () => {
  const causes = new Map<string, DeletionCause>([
    ['a', 'rollout'],
    ['a-1', 'unhealthy'],
    ['b', 'rollout'],
  ]);
  const several = `Deleted 3 Machines: a, a-1, b${causeText(['a', 'a-1', 'b'], causes, 5)}`;
  expect(several).toBe('Deleted 3 Machines: a, a-1, b. Causes: rollout (a, b); unhealthy (a-1)');
  expect(['a', 'a-1', 'b', 'c'].map((name) => causeIn(several, name))).toEqual([
    'rollout',
    'unhealthy',
    'rollout',
    undefined,
  ]);
  const one = `Deleted Machine: a${causeText(['a'], causes, 5)}`;
  expect(one).toBe('Deleted Machine: a. Cause: rollout');
  expect([causeIn(one, 'a'), causeIn(one, 'a-1'), causeIn('Deleted Machine: a', 'a')]).toEqual([
    'rollout',
    undefined,
    undefined,
  ]);
  const many = ['a', 'b', 'a-1'];
  expect(causeIn(`Deleted 3 Machines: a and 2 more${causeText(many, causes, 1)}`, 'a')).toBe('rollout');
});
