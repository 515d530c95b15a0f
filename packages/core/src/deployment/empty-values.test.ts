import { machineDeployments } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { rolling } from './testing/transcript.ts';
import { NAMESPACE, World } from './testing/world.ts';

const ROLE = 'node-role.kubernetes.io/worker';

async function pool() {
  const world = await World.start(startControlPlane, {});
  await world.deploy(2, rolling(1, 0));
  await world.until(() => world.complete(), 120);
  const first = (await world.machines()).map(({ metadata }) => metadata.name).sort();
  return { world, first };
}

const changeTemplate = (world: World, template: object): Promise<unknown> =>
  world.keeper.resource(machineDeployments, NAMESPACE).patch('pool', { type: 'merge', body: { spec: { template } } });

describe('an entry with an empty value is a change', () => {
  test('a label of the node template, such as the role of a Node, reaches all machines, and leaves them again', async () => {
    const { world, first } = await pool();
    await using _ = world;
    const labels = async () => (await world.machines()).map(({ spec }) => spec.nodeTemplate?.metadata?.labels?.[ROLE]);
    await changeTemplate(world, { spec: { nodeTemplate: { metadata: { labels: { [ROLE]: '' } } } } });
    await world.pass(10);
    expect(await labels()).toEqual(['', '']);
    await changeTemplate(world, { spec: { nodeTemplate: { metadata: { labels: { [ROLE]: null } } } } });
    await world.pass(10);
    expect(await labels()).toEqual([undefined, undefined]);
    expect((await world.machines()).map(({ metadata }) => metadata.name).sort()).toEqual(first);
  });

  test('a label of the template starts a rollout', async () => {
    const { world, first } = await pool();
    await using _ = world;
    await changeTemplate(world, { metadata: { labels: { batch: '' } } });
    await world.pass(5);
    await world.until(() => world.complete(), 600);
    const all = await world.machines();
    expect(all.map(({ metadata }) => metadata.labels?.batch)).toEqual(['', '']);
    expect(all.filter(({ metadata }) => first.includes(metadata.name))).toEqual([]);
  });

  test('`maxEvictRetries: 0` reaches all machines', async () => {
    const { world } = await pool();
    await using _ = world;
    await changeTemplate(world, { spec: { maxEvictRetries: 0 } });
    await world.pass(10);
    expect((await world.machines()).map(({ spec }) => spec.maxEvictRetries)).toEqual([0, 0]);
  });
});
