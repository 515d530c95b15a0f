import { Annotations, type Block, Labels, type MachineDeployment } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { blocksOfSet } from '../blocked/causes.ts';
import { set } from '../set/test-objects.ts';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const SINCE = '2026-01-01T11:00:00Z';

async function start(spec: Partial<MachineDeployment['spec']>, options: WorldOptions = {}, annotations = {}) {
  const given: WorldOptions = { blockedBy: true, birthMs: () => 30_000, deathMs: () => 1_000, ...options };
  const world = await World.start((settings) => startControlPlane(settings), given);
  await world.deploy(4, spec, { annotations });
  await world.until(() => world.complete(), HOUR);
  await world.pass(5);
  return world;
}

const ofDeployment = async (world: World): Promise<readonly Block[] | undefined> =>
  (await world.deployment()).status?.blockedBy;

const ofSet = async (world: World): Promise<readonly Block[] | undefined> => (await world.sets())[0]?.status?.blockedBy;

const nameOf = async (world: World, index: number): Promise<string> =>
  (await world.machines())[index]?.metadata.name ?? '';

const drain = (pod: string): Block => ({
  cause: 'Drain',
  object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' },
  reason: `pod ${pod} waits`,
  since: SINCE,
});

test('a rollout outside of its window names the deployment, without further writes, until the window opens', async () => {
  await using world = await start(rolling(0, 1), {}, { [Annotations.RolloutWindows]: '0 14 * * * UTC 1h' });
  await world.changeClass('large');
  await world.pass(10);
  const [entry, ...others] = (await ofDeployment(world)) ?? [];
  expect(others).toEqual([]);
  expect(entry).toMatchObject({ cause: 'Window', object: { kind: 'MachineDeployment', name: 'pool' } });
  expect(entry?.reason).toContain('the rollout may continue at 2026-01-01T14:00:00Z');
  const before = world.totalWrites();
  await world.pass(HOUR);
  expect([await ofDeployment(world), world.totalWrites()]).toEqual([[entry], before]);
  await world.until(() => world.complete(), 3 * HOUR);
  await world.pass(5);
  expect(await ofDeployment(world)).toBeUndefined();
});

test('the set and the deployment repeat the reasons of their machines, once for each object', async () => {
  await using world = await start(rolling(1, 0));
  const [first, second] = [await nameOf(world, 0), await nameOf(world, 1)];
  await world.setPhase(first, 'Running', { blockedBy: [drain('a')] });
  await world.pass(5);
  expect([await ofSet(world), await ofDeployment(world)]).toEqual([[drain('a')], [drain('a')]]);
  await world.setPhase(second, 'Running', { blockedBy: [drain('b')] });
  await world.pass(5);
  expect(await ofDeployment(world)).toEqual([drain('a')]);
  await world.setPhase(first, 'Running', { blockedBy: null });
  await world.pass(5);
  expect([await ofSet(world), await ofDeployment(world)]).toEqual([[drain('b')], [drain('b')]]);
  await world.setPhase(second, 'Running', { blockedBy: null });
  await world.pass(5);
  expect([await ofSet(world), await ofDeployment(world)]).toEqual([undefined, undefined]);
});

test('failed machines that wait for their replacement are an entry of the budget', async () => {
  await using world = await start(rolling(1, 0), { deathMs: () => HOUR * 1000 });
  for (const index of [0, 1]) await world.setPhase(await nameOf(world, index), 'Failed');
  await world.pass(5);
  const budget = { cause: 'Budget', reason: expect.stringContaining('--max-unhealthy-replacements') };
  expect([await ofSet(world), await ofDeployment(world)]).toMatchObject([[budget], [budget]]);
});

test('the label freeze is an entry only while machines are missing', () => {
  const labels = { [Labels.Freeze]: 'True' };
  const frozen = set('pool-1', 3, { labels });
  expect([blocksOfSet(frozen, 1), blocksOfSet(frozen, 0), blocksOfSet(set('pool-1', 3), 1)]).toEqual([
    [
      {
        cause: 'Frozen',
        object: { kind: 'MachineSet', name: 'pool-1' },
        reason: 'MachineSet pool-1 has the label freeze, so mcm creates no machines for it',
      },
    ],
    [],
    [],
  ]);
});

test('without the flag, there is no entry, and the entries of an earlier manager disappear', async () => {
  await using world = await start(rolling(1, 0));
  await world.setPhase(await nameOf(world, 0), 'Running', { blockedBy: [drain('a')] });
  await world.pass(5);
  expect(await ofSet(world)).toHaveLength(1);
  world.blockedBy = false;
  await world.restart();
  await world.pass(5);
  expect([await ofSet(world), await ofDeployment(world)]).toEqual([undefined, undefined]);
});
