import { Annotations, Labels, type MachineDeployment, MachineDeploymentConditions, machineClasses } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { findCondition } from '../objects/conditions.ts';
import { deployment, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { rounds, strategy } from './testing/in-place-agents.ts';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const AFTERNOON = '0 14 * * * UTC 10m';
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const { RolloutWaiting } = MachineDeploymentConditions;

async function start(
  spec: Partial<MachineDeployment['spec']>,
  annotations: Record<string, string>,
  options: WorldOptions = {},
) {
  const given: WorldOptions = { birthMs: () => 2 * MINUTE * 1000, deathMs: () => 1_000, ...options };
  const world = await World.start((options) => startControlPlane(options), given);
  await world.deploy(4, spec, { annotations });
  await world.until(() => world.complete(), HOUR);
  return world;
}

const windows = (text = AFTERNOON) => ({ [Annotations.RolloutWindows]: text });
const waiting = async (world: World) =>
  findCondition((await world.deployment()).status?.conditions ?? [], RolloutWaiting);

const time = (world: World): string => world.clock.now().toISOString().slice(11, 16);

describe('a rolling update', () => {
  test('a rollout begins when its window opens, and the condition reports this time', async () => {
    await using world = await start(rolling(0, 1), windows());
    await world.changeClass('large');
    await world.pass(HOUR);
    expect(await world.sizes()).toBe('small:4');
    expect(await waiting(world)).toMatchObject({
      reason: 'OutsideWindow',
      message:
        'The rollout waits: no window is open (0 14 * * * UTC 10m); the rollout may continue at 2026-01-01T14:00:00Z.',
    });
    await world.until(async () => (await world.sizes()) !== 'small:4', 2 * HOUR);
    expect(time(world)).toBe('14:00');
    expect(await waiting(world)).toBeUndefined();
  });

  test('a rollout whose window closes midway replaces the machines that it deleted, and deletes no more until the next window', async () => {
    const deathMs = () => 5 * MINUTE * 1000;
    await using world = await start(rolling(0, 1), windows('0 14 * * * UTC 3m'), { deathMs });
    await world.changeClass('large');
    await world.pass(2 * HOUR);
    expect(await world.sizes()).toBe('large:0 small:3');
    await world.pass(20 * MINUTE);
    expect(await world.sizes()).toBe('large:1 small:3');
    expect(world.available()).toBe(4);
    await world.pass(20 * HOUR);
    expect(await world.sizes()).toBe('large:1 small:3');
    await world.pass(4 * 24 * HOUR);
    expect(await world.sizes()).toBe('large:4 small:0');
  });

  test('a rollout follows the user outside of its window: the former template grows and shrinks', async () => {
    await using world = await start(rolling(1, 0), windows());
    await world.changeClass('large');
    await world.pass(MINUTE);
    await world.change({ spec: { replicas: 6 } });
    await world.pass(10 * MINUTE);
    expect(await world.sizes()).toBe('small:6');
    await world.change({ spec: { replicas: 3 } });
    await world.pass(10 * MINUTE);
    expect(await world.sizes()).toBe('small:3');
  });

  test('a maintenance window does not delay the replacement of a failed machine', async () => {
    await using world = await start(rolling(1, 0), windows());
    await world.changeClass('large');
    await world.pass(MINUTE);
    const [failed] = world.truth.store.list();
    if (!failed) throw new Error('there is no machine');
    await world.setPhase(failed.metadata.name, 'Failed');
    await world.pass(10 * MINUTE);
    expect(world.truth.store.list().map(({ metadata }) => metadata.uid)).not.toContain(failed.metadata.uid);
    expect(world.available()).toBe(4);
  });

  test('a rollout ignores windows and freezes until the time of an override', async () => {
    const freeze = { [Annotations.RolloutFreezes]: '2026-01-01T00:00:00Z/2026-02-01T00:00:00Z stock-taking' };
    await using world = await start(rolling(1, 0), { ...windows(), ...freeze });
    await world.changeClass('large');
    await world.pass(3 * HOUR);
    expect(await world.sizes()).toBe('small:4');
    expect(await waiting(world)).toMatchObject({
      reason: 'InFreeze',
      message: expect.stringContaining('stock-taking'),
    });
    await world.change({ metadata: { annotations: { [Annotations.RolloutOpenUntil]: '2026-01-02T00:00:00Z' } } });
    await world.until(() => world.complete(), HOUR);
    expect(await world.sizes()).toBe('large:4 small:0');
  });

  test('an undo waits for the window, and continues with an override', async () => {
    await using world = await start(rolling(1, 0), windows('0 14 * * * UTC 1h'));
    await world.changeClass('large');
    await world.pass(4 * HOUR);
    expect(await world.sizes()).toBe('large:4 small:0');
    await world.change({ spec: { rollbackTo: { revision: 1 } } });
    await world.pass(HOUR);
    const { spec } = await world.deployment();
    expect([spec.rollbackTo, spec.template.spec.class.name]).toEqual([undefined, 'small']);
    expect(await world.sizes()).toBe('large:4 small:0');
    expect(await waiting(world)).toMatchObject({ reason: 'OutsideWindow' });
    await world.change({ metadata: { annotations: { [Annotations.RolloutOpenUntil]: '2026-01-02T00:00:00Z' } } });
    await world.until(async () => (await world.sizes()) === 'large:0 small:4', HOUR);
  });
});

test('Recreate waits for its window, and then creates the new machines even if it closes', async () => {
  await using world = await start({ strategy: { type: 'Recreate' } }, windows('0 14 * * * UTC 1m'), {
    deathMs: (_machine, index) => (index + 1) * 5 * MINUTE * 1000,
  });
  await world.changeClass('large');
  await world.pass(HOUR);
  expect(await world.sizes()).toBe('small:4');
  await world.pass(2 * HOUR);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('an in-place update completes what it began, and selects no node outside of its window', async () => {
  await using world = await start(strategy('Auto', 0, 1), windows('0 14 * * * UTC 1m'));
  await world.changeClass('large');
  await rounds(world, 10);
  expect(await world.sizes()).toBe('small:4');
  await world.until(async () => time(world) === '14:00', 3 * HOUR);
  await world.pass(20);
  const selected = async () =>
    (await world.nodes()).filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate]).length;
  expect([await world.sizes(), await selected()]).toEqual(['large:0 small:4', 1]);
  await world.pass(2 * MINUTE);
  await rounds(world, 40);
  expect([await world.sizes(), await selected()]).toEqual(['large:1 small:3', 0]);
  await world.pass(HOUR);
  await rounds(world, 20);
  expect(await world.sizes()).toBe('large:1 small:3');
  expect(world.available()).toBe(4);
});

test('an in-place update that has all its machines deletes no surplus outside of its window', () => {
  const sets = [set('old', 1, { className: 'former', age: 90 }), set('new', 3, { age: 5 })] as const;
  const machines = new Map([
    [sets[0].metadata.uid, machinesOf(1, 'Running', 'o')],
    [sets[1].metadata.uid, machinesOf(3, 'Running', 'n')],
  ]);
  const shrunk = (annotations: Record<string, string>) => {
    const pool = deployment(3, strategy('Auto', 1, 1));
    const snapshot = {
      deployment: { ...pool, metadata: { ...pool.metadata, annotations } },
      sets,
      machines,
      creating: () => 0,
      nodeOf: () => undefined,
      now: NOW,
    };
    return planRollout(snapshot).write.some(({ metadata, spec }) => metadata.name === 'old' && spec.replicas === 0);
  };
  expect([shrunk({}), shrunk(windows())]).toEqual([true, false]);
});

test('a class with windows limits its deployments, and an invalid one stops their rollouts until it is corrected', async () => {
  await using world = await start(rolling(1, 0), {});
  const annotate = (text: string | null) =>
    world.keeper
      .resource(machineClasses, world.namespace)
      .patch('large', { type: 'merge', body: { metadata: { annotations: { [Annotations.RolloutWindows]: text } } } });
  await annotate('sometimes');
  await world.changeClass('large');
  await world.pass(HOUR);
  expect(await world.sizes()).toBe('small:4');
  expect(await waiting(world)).toMatchObject({
    reason: 'InvalidWindow',
    message: expect.stringContaining('MachineClass large: metadata.annotations[rollout.machine.sapcloud.io/windows]'),
  });
  await annotate(AFTERNOON);
  await world.pass(MINUTE);
  expect(await waiting(world)).toMatchObject({ reason: 'OutsideWindow' });
  await annotate(null);
  await world.until(() => world.complete(), HOUR);
  expect(time(world) < '14:00').toBe(true);
});

test('an override also ignores invalid windows of the class', async () => {
  await using world = await start(rolling(1, 0), { [Annotations.RolloutOpenUntil]: '2026-01-02T00:00:00Z' });
  await world.keeper
    .resource(machineClasses, world.namespace)
    .patch('large', { type: 'merge', body: { metadata: { annotations: windows('sometimes') } } });
  await world.pass(MINUTE);
  await world.changeClass('large');
  await world.until(() => world.complete(), HOUR);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('invalid windows of a deployment are refused with the field', async () => {
  await using world = await start(rolling(1, 0), {});
  await world.change({ metadata: { annotations: windows('0 22 * * * UTC') } });
  await world.changeClass('large');
  await world.pass(10 * MINUTE);
  expect(await world.sizes()).toBe('small:4');
  const conditions = (await world.deployment()).status?.conditions ?? [];
  expect(findCondition(conditions, MachineDeploymentConditions.InvalidSpec)?.message).toMatch(
    /metadata\.annotations\[rollout\.machine\.sapcloud\.io\/windows\]: .* must have the format five cron fields/,
  );
});
