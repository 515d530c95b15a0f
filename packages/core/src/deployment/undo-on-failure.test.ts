import { Annotations, type Machine, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { deployment, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { play, rounds, strategy } from './testing/in-place-agents.ts';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const UNDO = { [Annotations.RolloutUndoOnFailure]: 'true' };
const CANARY = { ...UNDO, [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '30m' };
const isGood = ({ spec }: Machine): boolean => spec.class.name !== 'large';
const start = (options: WorldOptions = {}) =>
  World.start(startControlPlane, { birthMs: (machine) => (isGood(machine) ? 100 : undefined), ...options });

const failing = async (world: World): Promise<readonly Machine[]> =>
  (await world.machines()).filter((machine) => !isGood(machine));

async function fail(world: World): Promise<void> {
  await world.changeClass('large');
  await world.until(async () => (await failing(world)).length > 0, 60);
  for (const { metadata } of await failing(world)) await world.setPhase(metadata.name, 'Failed');
}

const eventsOf = async (world: World): Promise<readonly string[]> =>
  (await world.events()).map(({ reason, message }) => `${reason}: ${message}`);

test.each([
  ['with a canary', CANARY],
  ['without a canary', UNDO],
  ['together with the pause', { ...CANARY, [Annotations.RolloutPauseOnFailure]: 'true' }],
])('a failed machine of the new template undoes the rollout %s', async (_title, annotations) => {
  await using world = await start();
  await world.deploy(4, rolling(1, 0), { annotations });
  await world.until(() => world.complete(), 60);
  await fail(world);
  const [bad] = await failing(world);
  await world.until(async () => (await failing(world)).length === 0, 120);
  await world.until(() => world.complete(), 120);
  expect(await world.sizes()).toBe('large:0 small:4');
  const { spec, metadata } = await world.deployment();
  expect([spec.paused, spec.rollbackTo, spec.template.spec.class.name]).toEqual([undefined, undefined, 'small']);
  expect(metadata.annotations?.[Annotations.RolloutPausedBy]).toBeUndefined();
  expect(await eventsOf(world)).toContain(
    `RolloutUndone: mcm undoes the rollout, because ${bad?.metadata.name} failed with the new template. The deployment returns to revision 1.`,
  );
});

test('the same failing template is undone each time', async () => {
  await using world = await start();
  await world.deploy(3, rolling(1, 0), { annotations: CANARY });
  await world.until(() => world.complete(), 60);
  for (const _round of [1, 2]) {
    await fail(world);
    await world.until(async () => (await failing(world)).length === 0, 120);
    await world.until(() => world.complete(), 120);
    expect(await world.sizes()).toBe('large:0 small:3');
  }
});

test('without a last good template the rollout pauses', async () => {
  await using world = await start();
  await world.deploy(3, rolling(1, 0), { annotations: UNDO });
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await world.until(async () => (await failing(world)).length > 0, 60);
  // If the old set has no revision, the rollout cannot return to the old template.
  const old = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'small');
  const body = { metadata: { annotations: { [Annotations.Revision]: null } } };
  await world.keeper.resource(machineSets, world.namespace).patch(old?.metadata.name ?? '', { type: 'merge', body });
  await world.pass(1);
  for (const { metadata } of await failing(world)) await world.setPhase(metadata.name, 'Failed');
  await world.until(async () => (await world.deployment()).spec.paused === true, 120);
  expect((await world.deployment()).spec.rollbackTo).toBeUndefined();
});

test('an undo to a set that never had a machine does not record it as the last good set', async () => {
  await using world = await start({ classes: ['small', 'large'] });
  await world.deploy(0, rolling(1, 0), { annotations: CANARY });
  await world.until(async () => (await world.sets()).length === 1, 60);
  await world.change({ spec: { replicas: 2, template: { spec: { class: { name: 'huge' } } } } });
  await world.createClass('huge');
  await world.until(() => world.complete(), 60);
  const lastGood = async () => (await world.deployment()).metadata.annotations?.[Annotations.RolloutLastGood];
  const good = await lastGood();
  expect((await world.sets()).find(({ metadata }) => metadata.name === good)?.spec.template.spec.class.name).toBe(
    'huge',
  );
  await world.change({ spec: { rollbackTo: { revision: 0 } } });
  await world.until(async () => (await world.deployment()).spec.template.spec.class.name === 'small', 60);
  await world.pass(20);
  expect(await lastGood()).toBe(good);
  expect((await world.machines()).filter(({ spec }) => spec.class.name === 'small')).toHaveLength(1);
});

test('a killed manager continues the undo', async () => {
  let isDown = true;
  const isRollback = ({ method, url }: Request) => method === 'PUT' && url.endsWith('/machinedeployments/pool');
  await using world = await start({
    fault: async (request, answer) => {
      if (isDown && isRollback(request)) throw new Error('the server is down');
      return answer();
    },
  });
  await world.deploy(4, rolling(1, 0), { annotations: CANARY });
  await world.until(() => world.complete(), 60);
  await fail(world);
  await world.until(async () => (await world.deployment()).spec.rollbackTo !== undefined, 60);
  isDown = false;
  await world.restart();
  await world.until(() => world.complete(), 120);
  expect(await world.sizes()).toBe('large:0 small:4');
});

test('a failed update in place undoes the rollout', async () => {
  await using world = await World.start(startControlPlane, { birthMs: () => 100 });
  await world.deploy(3, strategy('Auto', 0, 1), { annotations: CANARY });
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  for (let round = 0; round < 20 && (await world.deployment()).spec.template.spec.class.name === 'large'; round++) {
    await world.pass(1);
    await play(world, () => 'failed');
  }
  expect((await world.deployment()).spec.template.spec.class.name).toBe('small');
  await rounds(world, 60);
  expect(await world.sizes()).toBe('large:0 small:3');
});

test('a refused rollback is not requested again, and the rollout pauses', () => {
  const revision = (number: string) => ({ annotations: { [Annotations.Revision]: number } });
  const old = set('old', 3, { className: 'small', ...revision('1') });
  const current = set('new', 1, { className: 'large', ...revision('2') });
  const pool = deployment(3, { template: current.spec.template });
  const seen = {
    deployment: { ...pool, metadata: { ...pool.metadata, annotations: UNDO } },
    sets: [old, current],
    machines: new Map([
      [old.metadata.uid, machinesOf(3, 'Running', 'o')],
      [current.metadata.uid, machinesOf(1, 'Failed', 'n')],
    ]),
    creating: () => 0,
    guards: { ...SAFEGUARD_DEFAULTS, breakerOf: () => undefined, hasClass: () => true },
    now: NOW,
  };
  expect(planRollout(seen).pause).toMatchObject({ undoTo: 1 });
  const refused = planRollout({ ...seen, refusedRollback: 'revision 1 does not exist' });
  expect(refused.pause?.message).toMatch(/^mcm paused the rollout/);
  expect(refused.pause?.undoTo).toBeUndefined();
});
