import { Annotations, type Machine, machineClasses, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from '../deployment/testing/world.ts';

const SLOWLY: WorldOptions = { birthMs: () => 5_000, deathMs: () => 3_000 };

const start = (options: WorldOptions = {}) => World.start(startControlPlane, { ...SLOWLY, ...options });

const phase = ({ status }: Machine) => status?.currentStatus?.phase;
const going = ({ metadata }: Machine) => metadata.deletionTimestamp !== undefined;

const fleet = (world: World) => world.truth.store.list();

async function born(world: World, replicas: number, spec: object = {}): Promise<readonly Machine[]> {
  await world.deploy(replicas, spec);
  await world.until(() => world.complete(), 120);
  return world.machines();
}

function underWay(world: World, replicas: number): number {
  const alive = fleet(world).filter((machine) => !going(machine));
  const filled = alive.filter((machine) => phase(machine) === 'Running').length;
  const waiting = alive.filter((machine) => phase(machine) === 'Failed').length;
  return replicas - filled - waiting;
}

function watchMost(world: World, replicas: number): { most: number } {
  const seen = { most: 0 };
  world.truth.onChange(() => {
    seen.most = Math.max(seen.most, underWay(world, replicas));
  });
  return seen;
}

const fail = async (world: World, machines: readonly Machine[]) => {
  for (const { metadata } of machines) await world.setPhase(metadata.name, 'Failed');
};

const silence = (world: World, { metadata }: Machine) =>
  world.setPhase(metadata.name, 'Unknown', {
    currentStatus: { phase: 'Unknown', lastUpdateTime: world.clock.now().toISOString() },
    conditions: [{ type: 'Ready', status: 'Unknown' }],
  });

const speak = (world: World, { metadata }: Machine) =>
  world.setPhase(metadata.name, 'Running', {
    currentStatus: { phase: 'Running', lastUpdateTime: world.clock.now().toISOString() },
    conditions: [{ type: 'Ready', status: 'True' }],
    lastOperation: { type: 'HealthCheck', state: 'Successful', lastUpdateTime: world.clock.now().toISOString() },
  });

const conditions = async (world: World) =>
  ((await world.deployment()).status?.conditions ?? []).map(({ type, reason }) => `${type}/${reason}`).sort();

const reported = async (world: World, reason: string, kind = 'MachineDeployment') =>
  (await world.events()).filter((event) => event.reason === reason && event.involvedObject.kind === kind);

const WELL = ['Available/MinimumReplicasAvailable', 'Progressing/NewMachineSetAvailable'];

describe('how many failed machines are replaced at once', () => {
  test.each([
    ['one by default', {}, 1],
    ['a count', { maxUnhealthyReplacements: 3 }, 3],
    ['a percentage, rounded down', { maxUnhealthyReplacements: '25%' }, 2],
    ['at least one', { maxUnhealthyReplacements: '5%' }, 1],
    ['at least one', { maxUnhealthyReplacements: 0 }, 1],
  ])('%s', async (_title, safeguards, most) => {
    await using world = await start({ safeguards });
    const machines = await born(world, 10);
    const failed = machines.slice(0, 6);
    const seen = watchMost(world, 10);
    await fail(world, failed);
    const uids = new Set(failed.map(({ metadata }) => metadata.uid));
    await world.until(() => world.complete() && !fleet(world).some(({ metadata }) => uids.has(metadata.uid)), 300);
    expect(seen.most).toBe(most);
    expect(await conditions(world)).toEqual(WELL);
  });

  test('replacements share one limit for all sets of a deployment, and with a rollout maxUnavailable', async () => {
    await using world = await start({ safeguards: { maxUnhealthyReplacements: 4 } });
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 2 } };
    const machines = await born(world, 8, { strategy });
    await world.changeClass('large');
    await world.until(() => fleet(world).filter((m) => m.spec.class.name === 'large').length >= 4, 120);
    const seen = watchMost(world, 8);
    const old = fleet(world).filter((m) => m.spec.class.name === 'small' && phase(m) === 'Running');
    const fresh = fleet(world).filter((m) => m.spec.class.name === 'large' && phase(m) === 'Running');
    expect([machines.length, old.length > 1, fresh.length > 1]).toEqual([8, true, true]);
    await fail(world, [...old.slice(0, 2), ...fresh.slice(0, 2)]);
    await world.until(() => world.complete(), 600);
    expect(seen.most).toBe(2);
    expect(fleet(world).every((m) => m.spec.class.name === 'large')).toBe(true);
  });

  const spoil = async (world: World, machines: readonly Machine[]): Promise<void> => {
    for (const { metadata } of machines) {
      const lastOperation = { type: 'Create', state: 'Failed', lastUpdateTime: world.clock.now().toISOString() };
      await world.setPhase(metadata.name, 'Failed', { lastOperation });
    }
  };

  test.each([1, 2])(
    'machines that never joined, at most %i at a time: the next one is replaced when the first is deleted and its replacement exists',
    async (limit) => {
      await using world = await start({
        birthMs: (_machine, index) => (index < 6 ? 1_000 : undefined),
        safeguards: { maxUnhealthyReplacements: limit },
      });
      const machines = await born(world, 6);
      const first = new Set(machines.map(({ metadata }) => metadata.uid));
      await spoil(world, machines.slice(0, 4));
      const most = { going: 0, unfilled: 0 };
      world.truth.onChange(() => {
        const gone = 6 - fleet(world).filter((one) => first.has(one.metadata.uid) && !going(one)).length;
        const made = fleet(world).filter(({ metadata }) => !first.has(metadata.uid)).length;
        most.going = Math.max(most.going, fleet(world).filter(going).length);
        most.unfilled = Math.max(most.unfilled, gone - made);
      });
      await world.pass(60);
      expect(fleet(world).filter(({ metadata }) => first.has(metadata.uid))).toHaveLength(2);
      expect(most).toEqual({ going: limit, unfilled: limit });
      const marks = fleet(world).flatMap(({ metadata }) => metadata.annotations?.[Annotations.Replacement] ?? []);
      expect(marks).toEqual(['unjoined', 'unjoined', 'unjoined', 'unjoined']);
    },
  );

  test('a machine that never joined waits for the successor of one that ran pods', async () => {
    await using world = await start({ birthMs: (_machine, index) => (index < 4 ? 1_000 : undefined) });
    const machines = await born(world, 4);
    await fail(world, machines.slice(0, 1));
    await world.pass(30);
    await spoil(world, machines.slice(1, 3));
    const left = () => fleet(world).filter((machine) => phase(machine) === 'Failed' && !going(machine)).length;
    await world.pass(10 * 60);
    expect(left()).toBe(2);
    await world.pass(11 * 60);
    expect(left()).toBe(0);
  });

  test('a successor that never joins delays others only for the creation timeout', async () => {
    await using world = await start({ birthMs: (_machine, index) => (index < 4 ? 1_000 : undefined) });
    const machines = await born(world, 4);
    await fail(world, machines.slice(0, 2));
    await world.pass(10 * 60);
    const left = () => fleet(world).filter((machine) => phase(machine) === 'Failed').length;
    expect(left()).toBe(1);
    await world.pass(11 * 60);
    expect(left()).toBe(0);
  });

  test('a new manager process finds the actions in progress', async () => {
    await using world = await start();
    const machines = await born(world, 6);
    const seen = watchMost(world, 6);
    await fail(world, machines.slice(0, 4));
    for (let i = 0; i < 6; i++) {
      await world.pass(2.3);
      await world.restart();
    }
    const uids = new Set(machines.slice(0, 4).map(({ metadata }) => metadata.uid));
    await world.until(() => world.complete() && !fleet(world).some(({ metadata }) => uids.has(metadata.uid)), 300);
    expect(seen.most).toBe(1);
  });
});

describe('a rollout and failed machines', () => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
  const large = (machine: Machine) => machine.spec.class.name === 'large';

  test('a stuck rollout never prevents the repair of an old machine: the longest failed machine is next', async () => {
    // Machines of the new template never join, so they become Failed after two minutes.
    await using world = await start({ birthMs: (machine) => (large(machine) ? undefined : 5_000) });
    const [first] = await born(world, 4, { strategy });
    if (!first) throw new Error('no machine');
    const turns: string[] = [];
    world.truth.onChange(({ type, object }) => {
      if (type === 'updated' && going(object) && phase(object) === 'Failed') {
        const turn = large(object) ? 'new' : 'old';
        if (turns.at(-1) !== turn) turns.push(turn);
      }
    });
    await world.changeClass('large');
    await world.until(() => fleet(world).some((one) => large(one) && !going(one)), 120);
    const seen = watchMost(world, 4);
    for (let round = 0; round < 6; round++) {
      const old = fleet(world).find((one) => !large(one) && phase(one) === 'Running');
      await fail(world, old ? [old] : []);
      await world.pass(120);
      const stuck = fleet(world).filter((one) => large(one) && !going(one) && phase(one) !== 'Failed');
      const lastOperation = { type: 'Create', state: 'Failed', lastUpdateTime: world.clock.now().toISOString() };
      for (const { metadata } of stuck) await world.setPhase(metadata.name, 'Failed', { lastOperation });
      await world.pass(60);
    }
    expect(seen.most).toBe(1);
    expect(turns.slice(0, 4)).toEqual(['old', 'new', 'old', 'new']);
  });

  test('a rollout deletes no available machine while a failed one waits, and continues afterwards', async () => {
    await using world = await start({ birthMs: (machine) => (large(machine) ? 30_000 : 5_000) });
    const machines = await born(world, 6, { strategy });
    await world.changeClass('large');
    await world.until(() => fleet(world).some((one) => large(one)), 120);
    const old = machines.filter(({ metadata }) =>
      fleet(world).some((one) => one.metadata.uid === metadata.uid && !going(one)),
    );
    const failed = old.slice(0, 2);
    await fail(world, failed);
    const uids = new Set(failed.map(({ metadata }) => metadata.uid));
    const waiting = () => fleet(world).some((one) => uids.has(one.metadata.uid) && !going(one));
    const given: string[] = [];
    const before = new Set(
      fleet(world)
        .filter(going)
        .map(({ metadata }) => metadata.uid),
    );
    world.truth.onChange(({ type, object: { metadata } }) => {
      const { uid, name, deletionTimestamp } = metadata;
      if (type !== 'updated' || deletionTimestamp === undefined || before.has(uid)) return;
      before.add(uid);
      if (!uids.has(uid) && waiting()) given.push(name);
    });
    const seen = watchMost(world, 6);
    await world.until(() => world.complete() && fleet(world).every(large), 1_200);
    expect([given, seen.most]).toEqual([[], 1]);
  });

  test.each([
    ['maxUnavailable 0 and a surge', { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }],
    ['Recreate', { type: 'Recreate' }],
    [
      'more unavailable than may be replaced at once',
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 4 } },
    ],
  ])('a rollout and failed machines never block each other: %s', async (_title, spec) => {
    await using world = await start();
    const machines = await born(world, 6, { strategy: spec });
    await world.changeClass('large');
    await world.pass(1);
    const alive = () => fleet(world).filter((one) => !going(one) && phase(one) === 'Running');
    await fail(world, alive().slice(0, 3));
    await world.until(() => world.complete() && fleet(world).every(large), 1_200);
    expect(machines).toHaveLength(6);
  });

  test('a paused rollout keeps its machines, and repairs continue', async () => {
    await using world = await start();
    await born(world, 4, { strategy });
    await world.changeClass('large');
    await world.until(() => fleet(world).filter((one) => large(one) && phase(one) === 'Running').length === 2, 120);
    await world.change({ spec: { paused: true } });
    await world.pass(20);
    const failed = fleet(world)
      .filter((one) => phase(one) === 'Running' && !large(one))
      .slice(0, 1);
    await fail(world, failed);
    const gone = () => !fleet(world).some(({ metadata }) => metadata.uid === failed[0]?.metadata.uid);
    await world.until(() => gone() && fleet(world).filter((one) => phase(one) === 'Running').length === 4, 300);
    expect(fleet(world).filter(large)).toHaveLength(2);
  });
});

describe('breaker', () => {
  test('while many are unreachable failed machines stay; the deployment reports the reason and continues by itself [#13]', async () => {
    await using world = await start();
    const [failed, ...others] = await born(world, 6);
    if (!failed) throw new Error('no machine');
    const unreachable = others.slice(0, 4);
    for (const machine of unreachable) await silence(world, machine);
    await world.pass(30);
    await fail(world, [failed]);
    await world.pass(3_600);
    expect(fleet(world).filter((machine) => phase(machine) === 'Failed')).toHaveLength(1);
    expect(fleet(world).filter(going)).toHaveLength(0);
    expect(await conditions(world)).toContain('ReplacementHeld/ManyMachinesUnreachable');
    const [held, ...more] = await reported(world, 'ReplacementHeld');
    expect([held?.count ?? 1, more.length]).toEqual([1, 0]);
    expect(held?.message).toContain('machines of the cluster became unreachable at the same time');
    expect(held?.message).toContain(Annotations.BreakerOverride);
    const written = world.totalWrites();
    await world.pass(3_600);
    expect(world.totalWrites()).toBe(written);

    for (const machine of unreachable) await speak(world, machine);
    // Recovered machines still count as unreachable for some time after their recovery.
    await world.pass(60);
    expect(fleet(world).filter((machine) => phase(machine) === 'Failed')).toHaveLength(1);
    await world.until(() => world.complete(), 600);
    expect(fleet(world).some(({ metadata }) => metadata.uid === failed.metadata.uid)).toBe(false);
    await world.pass(10);
    expect(await conditions(world)).toEqual(WELL);
    expect(await reported(world, 'ReplacementResumed')).toHaveLength(1);
  });

  test('a set without a deployment reports it too, only while machines are kept', async () => {
    await using world = await start();
    const labels = { app: 'alone' };
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'alone', labels },
      spec: {
        replicas: 6,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    const running = () => fleet(world).filter((machine) => phase(machine) === 'Running').length === 6;
    await world.until(running, 60);
    await world.pass(5);
    const [failed, ...others] = fleet(world);
    if (!failed) throw new Error('no machine');
    const said = async () =>
      (await world.sets())[0]?.status?.machineSetCondition?.map(({ type, reason }) => `${type}/${reason}`);
    expect(await said()).toEqual([]);
    for (const machine of others.slice(0, 4)) await silence(world, machine);
    await fail(world, [failed]);
    await world.pass(60);
    expect(await said()).toEqual(['ReplacementHeld/ManyMachinesUnreachable']);
    expect(await reported(world, 'ReplacementHeld', 'MachineSet')).toHaveLength(1);
    const written = world.totalWrites();
    await world.pass(3_600);
    expect(world.totalWrites()).toBe(written);
    for (const machine of others.slice(0, 4)) await speak(world, machine);
    await world.until(
      () => running() && !fleet(world).some(({ metadata }) => metadata.uid === failed.metadata.uid),
      900,
    );
    await world.pass(10);
    expect(await said()).toEqual([]);
    expect(await reported(world, 'ReplacementResumed', 'MachineSet')).toHaveLength(1);
  });

  test('a rollout deletes no machine that the breaker keeps', async () => {
    await using world = await start();
    const machines = await born(world, 6, {
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } },
    });
    for (const machine of machines.slice(0, 4)) await silence(world, machine);
    await world.pass(5);
    await world.changeClass('large');
    await world.pass(1_800);
    const alive = fleet(world).filter((machine) => !going(machine));
    expect(alive.filter((machine) => phase(machine) === 'Unknown')).toHaveLength(4);
    for (const machine of machines.slice(0, 4)) await speak(world, machine);
    await world.until(() => world.complete(), 900);
    expect(fleet(world).every((machine) => machine.spec.class.name === 'large')).toBe(true);
  });

  test('an operator overrides it on the class [#12]', async () => {
    await using world = await start();
    const [failed, ...others] = await born(world, 6);
    if (!failed) throw new Error('no machine');
    for (const machine of others.slice(0, 4)) await silence(world, machine);
    await fail(world, [failed]);
    await world.pass(60);
    expect(await conditions(world)).toContain('ReplacementHeld/ManyMachinesUnreachable');
    const until = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
    const annotations = { [Annotations.BreakerOverride]: `${until} the hall has burnt down` };
    await world.keeper
      .resource(machineClasses, NAMESPACE)
      .patch('small', { type: 'merge', body: { metadata: { annotations } } });
    await world.pass(30);
    expect(fleet(world).some(({ metadata }) => metadata.uid === failed.metadata.uid)).toBe(false);
    expect(await conditions(world)).not.toContain('ReplacementHeld/ManyMachinesUnreachable');
  });
});

describe('terminating machines and the surge', () => {
  const option = { [Annotations.CountTerminating]: 'true' };
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } as const;

  test.each([
    ['by default, a replacement is created before the former machine is deleted', {}, {}, 4],
    ['#24 with the annotation it is created later', {}, option, 3],
    ['#24 with the flag it is created later too', { safeguards: { countTerminating: true } }, {}, 3],
    [
      'the annotation takes precedence over the flag',
      { safeguards: { countTerminating: true } },
      { [Annotations.CountTerminating]: 'false' },
      4,
    ],
  ])('%s', async (_title, options, annotations, most) => {
    await using world = await start({ deathMs: () => 60_000, ...options });
    await world.deploy(3, { strategy }, { annotations });
    await world.until(() => world.complete(), 60);
    const seen = { most: 0 };
    world.truth.onChange(() => {
      seen.most = Math.max(seen.most, world.truth.store.size);
    });
    const [first] = await world.machines();
    await world.deleteMachine(first?.metadata.name ?? '');
    await world.pass(30);
    await world.until(() => world.complete(), 300);
    expect(seen.most).toBe(most);
    await world.changeClass('large');
    await world.until(() => world.complete(), 900);
    expect(seen.most).toBe(most);
  });

  test('an invalid value of --max-unhealthy-replacements is refused', async () => {
    await using world = await start();
    await world.deploy(1, {}, { annotations: { [Annotations.CountTerminating]: 'yes' } });
    await world.pass(5);
    expect(await conditions(world)).toEqual(['InvalidSpec/ValidationFailed']);
    expect((await world.deployment()).status?.conditions?.[0]?.message).toContain('must be "true" or "false"');
  });
});
