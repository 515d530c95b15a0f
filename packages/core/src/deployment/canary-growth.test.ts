import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deployment, machine, machinesOf, NOW, set } from '../set/test-objects.ts';
import { planRollout } from './plan.ts';
import { planRollingUpdate } from './rollout/rolling-update.ts';
import { planRollback } from './state/rollback.ts';
import { play, rounds, strategy } from './testing/in-place-agents.ts';
import { World, type WorldOptions } from './testing/world.ts';

const CANARY = {
  [Annotations.RolloutCanary]: '1',
  [Annotations.RolloutCanarySoak]: '30m',
  [Annotations.RolloutPauseOnFailure]: 'true',
};
const { [Annotations.RolloutPauseOnFailure]: _onFailure, ...UNPAUSED } = CANARY;

const isGood = ({ spec }: Machine): boolean => spec.class.name !== 'large';
const start = (options: WorldOptions = {}) =>
  World.start(startControlPlane, { birthMs: (machine) => (isGood(machine) ? 100 : undefined), ...options });

const rolling = (maxSurge: number, maxUnavailable: number) => ({
  strategy: { type: 'RollingUpdate' as const, rollingUpdate: { maxSurge, maxUnavailable } },
});

const NEVER_JOINED = { lastOperation: { state: 'Failed', type: 'Create', description: 'it has not joined' } };

const failing = async (world: World): Promise<readonly Machine[]> =>
  (await world.machines()).filter(({ spec }) => spec.class.name === 'large');

async function failCanaries(world: World): Promise<void> {
  for (const { metadata } of await failing(world)) await world.setPhase(metadata.name, 'Failed', NEVER_JOINED);
  await world.pass(10);
}

async function failed(world: World, replicas: number, spec: object, annotations: Record<string, string>) {
  await world.deploy(replicas, { revisionHistoryLimit: 10, ...spec }, { annotations });
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await world.until(async () => (await failing(world)).length > 0, 60);
  await failCanaries(world);
}

const isPaused = async (world: World) => (await world.deployment()).spec.paused === true;

describe('a rollout whose canary failed', () => {
  test.each([
    ['surge', rolling(1, 0), 'large:1 small:8'],
    ['a large surge', rolling(3, 0), 'large:1 small:8'],
    ['no surge', rolling(0, 1), 'large:1 small:7'],
  ])('%s: paused by the failure and scaled up, the last good set grows', async (_, spec, wanted) => {
    await using world = await start();
    await failed(world, 4, spec, CANARY);
    expect(await isPaused(world)).toBe(true);
    await world.change({ spec: { replicas: 8 } });
    await world.pass(60);
    expect(await world.sizes()).toBe(wanted);
    expect(await failing(world)).toHaveLength(1);
  });

  test('a rollout paused by hand and scaled up: the last good set grows, and a canary in percent does not', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), { ...UNPAUSED, [Annotations.RolloutCanary]: '25%' });
    await world.change({ spec: { paused: true } });
    await world.pass(10);
    await world.change({ spec: { replicas: 16 } });
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:16');
  });

  test('when a rollout with a failed canary is not paused and scales up, the last good set grows', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), UNPAUSED);
    await world.change({ spec: { replicas: 8 } });
    await world.pass(60);
    expect([await isPaused(world), await world.sizes()]).toEqual([false, 'large:1 small:8']);
  });

  test('scaled up together with the template: the canary comes first, and the last good set grows', async () => {
    await using world = await start();
    await world.deploy(4, rolling(1, 0), { annotations: CANARY });
    await world.until(() => world.complete(), 60);
    await world.change({ spec: { replicas: 8, template: { spec: { class: { name: 'large' } } } } });
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:8');
  });

  test('scaled up between batches: the former template gets the new machines', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(4, rolling(1, 0), { annotations: { [Annotations.RolloutBatchPause]: '1h' } });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:3');
    await world.change({ spec: { replicas: 8 } });
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:7');
  });

  test('scaled to 0 and up again: the last good set gets all machines', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), CANARY);
    await world.change({ spec: { replicas: 0 } });
    await world.until(async () => (await world.machines()).length === 0, 60);
    await world.change({ spec: { replicas: 6 } });
    await world.pass(60);
    expect(await world.sizes()).toBe('large:0 small:6');
  });

  test('the template is corrected during the pause: the last good set grows, not the failed one', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), CANARY);
    await world.changeClass('huge');
    await world.change({ spec: { replicas: 8 } });
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:8');
    await world.change({ spec: { paused: false } });
    await world.pass(60);
    expect(await world.sizes()).toBe('huge:1 large:0 small:7');
  });

  test('paused by a failure without a canary and scaled up: the last good set grows', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), { [Annotations.RolloutPauseOnFailure]: 'true' });
    await world.change({ spec: { replicas: 8 } });
    await world.pass(60);
    expect([await isPaused(world), await world.sizes()]).toEqual([true, 'large:1 small:8']);
  });

  test.each([
    ['paused', CANARY],
    ['not paused', UNPAUSED],
  ])('%s: a scale-up that waits for terminating machines completes, also after a restart', async (_, annotations) => {
    await using world = await start({ deathMs: () => 20_000 });
    await failed(world, 4, rolling(1, 0), annotations);
    const [victim] = (await world.machines()).filter(isGood);
    await world.deleteMachine(victim?.metadata.name ?? '');
    await world.change({ spec: { replicas: 8 } });
    await world.pass(5);
    await world.restart();
    await world.pass(60);
    expect(await world.sizes()).toBe('large:1 small:8');
    const written = world.totalWrites();
    await world.pass(600);
    expect(world.totalWrites()).toBe(written);
  });

  test('during an in-place update, the last good set replaces deleted old machines and gets new ones', async () => {
    await using world = await start();
    await world.deploy(4, strategy('Auto', 0, 1), { annotations: CANARY });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await rounds(world, 10, () => 'failed');
    expect([await isPaused(world), await world.sizes()]).toEqual([true, 'large:0 small:4']);
    await world.change({ spec: { replicas: 7 } });
    await rounds(world, 5, () => 'failed');
    expect([await world.sizes(), (await world.machines()).length]).toEqual(['large:0 small:7', 7]);
    expect(await failing(world)).toEqual([]);
  });

  test('an in-place update that is not paused creates at most the canary from the new template', async () => {
    await using world = await start();
    await world.deploy(4, strategy('Auto', 0, 1), { annotations: UNPAUSED });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await rounds(world, 10, () => 'failed');
    await world.change({ spec: { replicas: 9 } });
    await rounds(world, 10, () => 'failed');
    const [first] = (await world.machines()).filter(isGood);
    await world.deleteMachine(first?.metadata.name ?? '');
    await rounds(world, 10, () => 'failed');
    expect(await failing(world)).toHaveLength(1);
    expect((await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toHaveLength(9);
  });
});

test('an in-place update with room for several machines updates only the canary until its soak time has passed', async () => {
  await using world = await start();
  await world.deploy(4, strategy('Auto', 0, 2), { annotations: CANARY });
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await rounds(world, 10);
  expect(await world.sizes()).toBe('large:1 small:3');
  await world.pass(30 * 60);
  await rounds(world, 20);
  expect(await world.sizes()).toBe('large:4 small:0');
});

type Act =
  | { readonly do: 'scale'; readonly replicas: number }
  | { readonly do: 'pause'; readonly paused: boolean }
  | { readonly do: 'fail' | 'kill' }
  | { readonly do: 'delete'; readonly which: number };

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant('scale' as const), replicas: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }),
  fc.record({ do: fc.constantFrom('fail' as const, 'kill' as const) }),
  fc.record({ do: fc.constant('delete' as const), which: fc.nat(20) }),
);

async function perform(world: World, act: Act): Promise<unknown> {
  if (act.do === 'scale') return world.change({ spec: { replicas: act.replicas } });
  if (act.do === 'pause') return world.change({ spec: { paused: act.paused } });
  if (act.do === 'fail') return failCanaries(world);
  if (act.do !== 'delete') return world.restart();
  const there = (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const name = there[act.which % Math.max(there.length, 1)]?.metadata.name;
  return name === undefined ? undefined : world.deleteMachine(name);
}

test('in every history a failing template has one canary, and all replicas exist', async () => {
  const runs = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(15, 1)), endOnFailure: true };
  const shape = fc.record({
    surge: fc.integer({ min: 0, max: 3 }),
    unavailable: fc.integer({ min: 0, max: 2 }),
    onFailure: fc.boolean(),
    inPlace: fc.boolean(),
    list: fc.array(fc.tuple(acts, fc.integer({ min: 10, max: 5_000 })), { minLength: 1, maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(shape, async ({ surge, unavailable, onFailure, inPlace, list }) => {
      await using world = await start({ deathMs: () => 1_500 });
      const allowed = surge === 0 && unavailable === 0 ? 1 : unavailable;
      const spec = inPlace ? strategy('Auto', surge, allowed) : rolling(surge, allowed);
      await world.deploy(4, spec, { annotations: onFailure ? CANARY : UNPAUSED });
      await world.until(() => world.complete(), 60);
      let most = 0;
      world.truth.onChange(() => {
        const alive = world.truth.store.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        most = Math.max(most, alive.filter((machine) => !isGood(machine)).length);
      });
      await world.changeClass('large');
      for (const [act, pauseMs] of list) {
        await perform(world, act);
        if (inPlace) await play(world, () => 'failed');
        await world.pass(pauseMs / 1000);
      }
      await world.pass(120);
      const { spec: wanted } = await world.deployment();
      const replicas = (await world.sets()).reduce((sum, one) => sum + (one.spec.replicas ?? 0), 0);
      expect(most).toBeLessThanOrEqual(1);
      expect(replicas).toBeGreaterThanOrEqual(wanted.replicas ?? 0);
    }),
    runs,
  );
}, 120_000);

describe('a failed canary of a paused rollout', () => {
  test.each([
    ['paused by the failure', CANARY, {}],
    ['paused by hand', UNPAUSED, { paused: true }],
  ])('%s: it is kept until the user resumes the rollout', async (_, annotations, change) => {
    await using world = await start();
    await world.deploy(4, rolling(1, 0), { annotations });
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(async () => (await failing(world)).length > 0, 60);
    await world.change({ spec: change });
    const [canary] = await failing(world);
    await failCanaries(world);
    await world.pass(4 * 3_600);
    await world.restart();
    await world.pass(4 * 3_600);
    expect((await failing(world)).map(({ metadata }) => metadata.uid)).toEqual([canary?.metadata.uid]);
    const written = world.totalWrites();
    await world.pass(3_600);
    expect(world.totalWrites()).toBe(written);
    await world.change({ spec: { paused: false } });
    await world.until(
      async () => (await failing(world)).every(({ metadata }) => metadata.uid !== canary?.metadata.uid),
      60,
    );
  });

  test('a failed machine of the former template is still replaced', async () => {
    await using world = await start();
    await failed(world, 4, rolling(1, 0), CANARY);
    const [old] = (await world.machines()).filter(isGood);
    await world.setPhase(old?.metadata.name ?? '', 'Failed', {
      lastOperation: { state: 'Failed', type: 'HealthCheck', description: 'gone silent' },
    });
    await world.until(
      () => world.truth.store.get(`test/${old?.metadata.name}`)?.metadata.uid !== old?.metadata.uid,
      60,
    );
    await world.until(() => world.available() === 4, 60);
    expect(await world.sizes()).toBe('large:1 small:4');
  });

  test('without canaries a paused rollout replaces failed machines of the new template', async () => {
    await using world = await start();
    await world.deploy(4, rolling(1, 0));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(async () => (await failing(world)).length > 0, 60);
    const [first] = await failing(world);
    await world.change({ spec: { paused: true } });
    await failCanaries(world);
    await world.until(
      async () => (await failing(world)).some(({ metadata }) => metadata.uid !== first?.metadata.uid),
      60,
    );
  });
});

test('the last good set gets missing replicas, also when the replica count does not change', () => {
  const size = (name: string, replicas: number) => ({
    name,
    createdAt: name === 'old' ? 1 : 2,
    replicas,
    actual: replicas,
    available: replicas,
    desired: 8,
    max: 9,
  });
  const sizes = { current: { ...size('new', 1), available: 0 }, old: [size('old', 4)] };
  const target = { replicas: 8, surge: 1, unavailable: 0, ceiling: 1, good: 'old' };
  expect(Object.fromEntries(planRollingUpdate(sizes, target).resize)).toEqual({ old: 7 });
});

test('a failure pauses the rollout before a simultaneous scale-up adds machines', () => {
  const sizes = { [Annotations.DesiredReplicas]: '4', [Annotations.MaxReplicas]: '5' };
  const sets = [
    set('old', 4, { className: 'former', age: 90, annotations: sizes }),
    set('new', 1, { age: 5, annotations: sizes }),
  ];
  const machines = new Map([
    ['uid-old', machinesOf(4, 'Running', 'o')],
    ['uid-new', machinesOf(1, 'Failed', 'n')],
  ]);
  const pool = deployment(8, { annotations: CANARY });
  const { pause, write } = planRollout({ deployment: pool, sets, machines, creating: () => 0, now: NOW });
  expect(pause?.note).toBe('n0~uid-n0');
  expect(write.filter(({ metadata, spec }) => spec.replicas !== (metadata.name === 'old' ? 4 : 1))).toEqual([]);
});

describe('the reason for which a rollout waits', () => {
  const annotations = { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '30m' };
  const planned = (current: readonly Machine[], old: readonly Machine[], size: number) => {
    const sets = [set('old', size, { className: 'former', age: 90 }), set('new', current.length, { age: 5 })];
    const machines = new Map([
      ['uid-old', old],
      ['uid-new', current],
    ]);
    const pool = deployment(4, { annotations });
    return planRollout({ deployment: pool, sets, machines, creating: () => 0, now: NOW });
  };
  const young = (count: number) => machinesOf(count, 'Running', 'n', { age: 1 });

  test('a rollout waits for the soak time, if machines would follow without it', () => {
    const { because, measureProgress, lookAgainAt } = planned(young(1), machinesOf(3, 'Running', 'o'), 3);
    expect([because, measureProgress]).toEqual(['waiting: mcm observes canaries for 29m0s more', false]);
    expect(lookAgainAt).toEqual(new Date(NOW.getTime() + 29 * 60_000));
  });

  test('a rollout waits for the deletion of former machines, even if the canaries are young', () => {
    const going = machine('o0', { phase: 'Terminating', deleting: true });
    const { because, measureProgress } = planned(young(4), [going], 0);
    expect([because, measureProgress]).toEqual([expect.stringMatching(/or old machines still exist$/), true]);
  });

  test('a rollout waits for the failed canaries, and reports their names', () => {
    const { because } = planned(
      [machine('n0', { phase: 'CrashLoopBackOff', age: 1 })],
      machinesOf(4, 'Running', 'o'),
      4,
    );
    expect(because).toBe('waiting: 0 of 1 canaries are available; n0 failed');
  });
});

describe('an undo', () => {
  async function half(world: World, annotations: Record<string, string>): Promise<void> {
    await world.deploy(4, { revisionHistoryLimit: 10, ...rolling(1, 0) }, { annotations });
    await world.until(() => world.complete(), 60);
    await world.changeClass('huge');
    await world.until(async () => (await world.sizes()) === 'huge:3 small:2', 7_200);
    const [machine] = (await world.machines()).filter(({ spec }) => spec.class.name === 'huge');
    await world.setPhase(machine?.metadata.name ?? '', 'Failed', NEVER_JOINED);
    await world.pass(10);
    expect(await isPaused(world)).toBe(true);
  }
  const slow = { ...CANARY, [Annotations.RolloutBatchPause]: '20m' };
  const undone = { spec: { rollbackTo: { revision: 1 }, paused: null } };

  test('an undo is not delayed by the soak time or the pause between batches', async () => {
    await using world = await World.start(startControlPlane);
    await half(world, slow);
    await world.change(undone);
    expect(await world.until(() => world.complete(), 600)).toBeLessThan(60_000);
    expect(await world.sizes()).toBe('huge:0 small:4');
    const { metadata, status } = await world.deployment();
    expect(metadata.annotations).not.toHaveProperty([Annotations.RolloutPausedBy]);
    expect(metadata.annotations).toMatchObject(slow);
    await world.pass(5);
    expect(status?.conditions?.map(({ type }) => type as string)).not.toContain('RolloutBlocked');
  });

  test('an undo also works by writing the former template to the spec, as GitOps does', async () => {
    await using world = await World.start(startControlPlane);
    await half(world, slow);
    await world.change({ spec: { paused: false, template: { spec: { class: { name: 'small' } } } } });
    expect(await world.until(() => world.complete(), 600)).toBeLessThan(60_000);
  });

  test('an undo is not paused by a failed machine of the good template', async () => {
    await using world = await World.start(startControlPlane);
    await half(world, slow);
    const [good] = (await world.machines()).filter(({ spec }) => spec.class.name === 'small');
    await world.setPhase(good?.metadata.name ?? '', 'Failed', NEVER_JOINED);
    await world.change(undone);
    await world.until(() => world.complete(), 600);
    expect([await isPaused(world), await world.sizes()]).toEqual([false, 'huge:0 small:4']);
  });

  test('an undo to a template without machines is not delayed', async () => {
    await using world = await World.start(startControlPlane);
    const { [Annotations.RolloutCanarySoak]: _soak, ...annotations } = UNPAUSED;
    await world.deploy(4, { revisionHistoryLimit: 10, ...rolling(1, 0) }, { annotations });
    await world.until(() => world.complete(), 60);
    const good = async () => (await world.deployment()).metadata.annotations?.[Annotations.RolloutLastGood];
    const first = await good();
    await world.changeClass('huge');
    await world.until(async () => world.complete() && (await world.sizes()) === 'huge:4 small:0', 600);
    await world.pass(5);
    const huge = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'huge');
    expect([first === huge?.metadata.name, await good()]).toEqual([false, huge?.metadata.name]);
    await world.change({ metadata: { annotations: { [Annotations.RolloutCanarySoak]: '2h' } }, ...undone });
    await world.until(async () => world.complete() && (await world.sizes()) === 'huge:0 small:4', 600);
    expect(await good()).toBe(first);
  });

  test('removes the note of the pause at once, so a later pause by hand is not reported as automatic', () => {
    const pool = deployment(1, { annotations: { [Annotations.RolloutPausedBy]: 'new-0~uid-new-0' } });
    const hadMachines = { [Annotations.NextMachineNumbers]: '1' };
    const old = set('old', 1, { className: 'former', annotations: { ...hadMachines, [Annotations.Revision]: '1' } });
    const sets = { current: set('new', 1, { annotations: { [Annotations.Revision]: '2' } }), old: [old] };
    const annotations = (markLastGood: boolean) =>
      planRollback(pool, sets, 1, { markLastGood }).deployment.metadata.annotations;
    expect([annotations(false), annotations(true)]).toEqual([{}, { [Annotations.RolloutLastGood]: 'old' }]);
  });

  test('an undo is recognized if the rollout annotations came with the new template', async () => {
    await using world = await start();
    await world.deploy(4, rolling(1, 0));
    await world.until(() => world.complete(), 60);
    await world.change({
      metadata: { annotations: CANARY },
      spec: { template: { spec: { class: { name: 'large' } } } },
    });
    await world.pass(60);
    const small = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'small');
    expect((await world.deployment()).metadata.annotations).toMatchObject({
      [Annotations.RolloutLastGood]: small?.metadata.name,
    });
  });

  test('a template that was rolled out in part must be proven again when a user returns to it', async () => {
    await using world = await World.start(startControlPlane);
    await world.deploy(4, { revisionHistoryLimit: 10, ...rolling(1, 0) }, { annotations: UNPAUSED });
    await world.until(() => world.complete(), 60);
    await world.changeClass('huge');
    await world.pass(60);
    await world.changeClass('small');
    await world.until(() => world.complete(), 60);
    await world.changeClass('huge');
    await world.pass(600);
    expect(await world.sizes()).toBe('huge:1 small:3');
  });
});
