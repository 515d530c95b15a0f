import { Annotations, formatTime, Labels, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { controllerOf } from '@mcm/kube';
import { expect, test } from 'vitest';
import { findCondition } from '../objects/conditions.ts';
import { label, rounds, strategy } from './testing/in-place-agents.ts';
import { rolling } from './testing/transcript.ts';
import { World } from './testing/world.ts';

const HOUR = 60 * 60;

async function start(spec: Partial<MachineDeployment['spec']>, deathMs = 0): Promise<World> {
  const world = await World.start(startControlPlane, { birthMs: () => 5_000, deathMs: () => deathMs });
  await world.deploy(4, spec);
  await world.until(() => world.complete(), HOUR);
  return world;
}

const postpone = (world: World, node: string, value: string | null = 'true') =>
  label(world, node, value, Labels.RolloutPostpone);
const waiting = async (world: World) =>
  findCondition((await world.deployment()).status?.conditions ?? [], MachineDeploymentConditions.RolloutWaiting);
const names = (world: World): string[] => world.truth.store.list().map(({ metadata }) => metadata.name);
/** An in-place update moves a machine to the current set, but the machine keeps its class. */
const notUpdated = async (world: World): Promise<string[]> => {
  const set = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'small');
  return world.truth.store
    .list()
    .filter((machine) => controllerOf(machine)?.uid === set?.metadata.uid)
    .map(({ metadata }) => metadata.name)
    .sort();
};
const namesOf = (world: World, className: string): string[] =>
  world.truth.store
    .list()
    .filter(({ spec }) => spec.class.name === className)
    .map(({ metadata }) => metadata.name);

test.each([
  ['with surge', 1, 0],
  ['without surge', 0, 1],
  ['all at once', 4, 4],
])(
  'a rollout %s keeps the machine of a node that postpones, and replaces all others',
  async (_title, surge, unavailable) => {
    await using world = await start(rolling(surge, unavailable));
    const [oldest = '', second = ''] = names(world).sort();
    await postpone(world, oldest);
    await postpone(world, second);
    await world.changeClass('large');
    await world.pass(HOUR);
    expect(namesOf(world, 'small').sort()).toEqual([oldest, second]);
    expect(namesOf(world, 'large')).toHaveLength(2 + Math.min(surge, 2));
    expect(await waiting(world)).toMatchObject({
      reason: 'NodePostponed',
      message: `The rollout waits: the label rollout.machine.sapcloud.io/postpone postpones the update of ${oldest} (Node ${oldest}, until a user removes the label from the Node), ${second} (Node ${second}, until a user removes the label from the Node).`,
    });
    await postpone(world, oldest, null);
    await world.pass(HOUR);
    expect(namesOf(world, 'small')).toEqual([second]);
    await postpone(world, second, 'false');
    await world.until(() => world.complete(), HOUR);
    expect(await world.sizes()).toBe('large:4 small:0');
    expect(await waiting(world)).toBeUndefined();
  },
);

test('a label with a time ends without a change of the node', async () => {
  await using world = await start(rolling(1, 0));
  const [node = ''] = names(world);
  const end = new Date(Math.ceil(world.clock.now().getTime() / 1000 + 2 * HOUR) * 1000);
  await postpone(world, node, String(end.getTime() / 1000));
  await world.changeClass('large');
  await world.pass(HOUR);
  expect(await world.sizes()).toBe('large:4 small:1');
  expect((await waiting(world))?.message).toContain(`until ${formatTime(end)}`);
  await world.until(() => world.complete(), HOUR + 300);
  expect(namesOf(world, 'small')).toEqual([]);
});

test('the progress deadline does not run while only nodes that postpone are left, and starts again afterwards', async () => {
  await using world = await start({ ...rolling(1, 0), progressDeadlineSeconds: 600 }, 10_000);
  const [node = ''] = names(world);
  await postpone(world, node);
  await world.changeClass('large');
  const reasons = new Set<string | undefined>();
  const look = async () => {
    const { status } = await world.deployment();
    reasons.add(findCondition(status?.conditions ?? [], MachineDeploymentConditions.Progressing)?.reason);
  };
  await world.pass(24 * HOUR);
  await look();
  await postpone(world, node, null);
  for (let second = 0; second < 30; second += 1) {
    await world.pass(1);
    await look();
  }
  expect(await world.sizes()).toBe('large:4 small:0');
  expect([...reasons]).not.toContain('ProgressDeadlineExceeded');
});

test('a rollout ignores the label during an override', async () => {
  await using world = await start(rolling(1, 0));
  for (const node of names(world)) await postpone(world, node);
  await world.change({ metadata: { annotations: { [Annotations.RolloutOpenUntil]: '2026-02-01T00:00:00Z' } } });
  await world.changeClass('large');
  await world.until(() => world.complete(), HOUR);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('a failed machine is replaced although its node postpones', async () => {
  await using world = await start(rolling(1, 0));
  const [node = ''] = names(world);
  await postpone(world, node);
  await world.changeClass('large');
  await world.pass(HOUR);
  await world.setPhase(node, 'Failed');
  await world.until(() => world.complete(), HOUR);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('a scale-down deletes other machines first, and then also those that postpone', async () => {
  await using world = await start(rolling(1, 0));
  const [first = ''] = names(world).sort();
  await postpone(world, first);
  await world.change({ spec: { replicas: 1 } });
  await world.pass(HOUR);
  expect(names(world)).toEqual([first]);
  await world.change({ spec: { replicas: 0 } });
  await world.pass(HOUR);
  expect(names(world)).toEqual([]);
});

test('a user-named machine is deleted first, also if its node postpones', async () => {
  await using world = await start(rolling(1, 0));
  const [first = ''] = names(world).sort();
  await postpone(world, first);
  await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: first } }, spec: { replicas: 3 } });
  await world.pass(HOUR);
  expect(names(world)).not.toContain(first);
});

test.each([
  ['without surge', 0, 1, 'large:2 small:2'],
  ['with surge', 1, 0, 'large:3 small:2'],
])(
  'an update in place %s does not select a node that postpones, and does not delete its machine',
  async (_title, surge, unavailable, sizes) => {
    await using world = await start(strategy('Auto', surge, unavailable));
    const [first = '', second = ''] = names(world).sort();
    await postpone(world, first);
    await postpone(world, second);
    await world.changeClass('large');
    await rounds(world, 60);
    expect(await world.sizes()).toBe(sizes);
    expect(await notUpdated(world)).toEqual([first, second].sort());
    expect(await waiting(world)).toMatchObject({ reason: 'NodePostponed' });
    await postpone(world, first, null);
    await postpone(world, second, null);
    await rounds(world, 60);
    expect(await world.sizes()).toBe('large:4 small:0');
    expect(await waiting(world)).toBeUndefined();
  },
);

test('an update in place with surge keeps a node that postpones as the surplus machine', async () => {
  await using world = await start(strategy('Auto', 1, 0));
  const [first = ''] = names(world).sort();
  await postpone(world, first);
  await world.changeClass('large');
  await rounds(world, 60);
  expect(await world.sizes()).toBe('large:4 small:1');
  expect(await notUpdated(world)).toEqual([first]);
});
