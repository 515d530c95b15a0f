import { Annotations, type MachineDeployment, machineClasses, machineDeployments, machineSets } from '@mcm/api';
import { crdsWithoutRules } from '@mcm/api/testing';
import { startControlPlane } from '@mcm/control-plane';
import { namespaces } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { planRollout } from '../plan.ts';
import { NAMESPACE, World, type WorldOptions } from '../testing/world.ts';
import { checkPlan } from './guard.ts';
import { overlappedBy } from './problems.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);

/** The API server has no validation rules, so that invalid objects reach the validation in the controllers. */
const startBare = () =>
  World.start(({ crds: _strict, ...options }) => startControlPlane({ ...options, crds: crdsWithoutRules() }));

const get = (world: World, name = 'pool'): Promise<MachineDeployment> =>
  world.keeper.resource(machineDeployments, NAMESPACE).get(name);

const conditionOf = async (world: World, type: string, name = 'pool') =>
  (await get(world, name)).status?.conditions?.find((condition) => condition.type === type);

const reported = async (world: World, reason: string) =>
  (await world.events()).filter((event) => event.reason === reason);

const WELL = ['Available', 'Progressing'];
const types = async (world: World, name = 'pool') =>
  ((await get(world, name)).status?.conditions ?? []).map(({ type }) => type).sort();

async function another(world: World, labels: Record<string, string>, replicas = 2): Promise<void> {
  await world.pass(60);
  await world.keeper.resource(machineDeployments, NAMESPACE).create({
    metadata: { name: 'other' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    },
  });
  await world.pass(10);
}

describe('overlapping selectors', () => {
  test('both deployments name the other, the older continues, the newer creates nothing, until the overlap ends', async () => {
    await using world = await start();
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    const before = await world.machines();
    await another(world, { app: 'pool', tier: 'x' });
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({
      reason: 'SelectorOverlaps',
      message: expect.stringMatching(
        /^spec\.selector: .*MachineDeployment other\. mcm continues the rollout of this deployment, because the overlapping deployments are newer/,
      ),
    });
    expect(await conditionOf(world, 'InvalidSpec', 'other')).toMatchObject({
      reason: 'SelectorOverlaps',
      message: expect.stringMatching(
        /^spec\.selector: .*MachineDeployment pool\. mcm creates no machines for this deployment, because the overlapping deployment is older/,
      ),
    });
    expect((await reported(world, 'InvalidSpec')).map(({ involvedObject }) => involvedObject.name).sort()).toEqual([
      'other',
      'pool',
    ]);
    await world.pass(600);
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).toEqual(
      before.map(({ metadata }) => metadata.uid),
    );
    expect(await world.sets()).toHaveLength(1);
    await world.change({ spec: { replicas: 4 } });
    await world.until(() => world.truth.store.size === 4, 60);
    await world.keeper.resource(machineDeployments, NAMESPACE).patch('other', {
      type: 'merge',
      body: {
        spec: { selector: { matchLabels: { app: null } }, template: { metadata: { labels: { app: 'other' } } } },
      },
    });
    await world.until(() => world.truth.store.size === 6, 60);
    await world.pass(10);
    expect([await types(world), await types(world, 'other')]).toEqual([WELL, WELL]);
  });

  test('with equal creation times the running one continues; if both or neither run, the UID decides', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    await another(world, { app: 'pool', tier: 'x' });
    const [pool, other] = [await get(world), await get(world, 'other')];
    const twins = (first: string, second: string, { creationTimestamp } = pool.metadata) => ({
      running: { ...pool, metadata: { ...pool.metadata, uid: first, creationTimestamp } },
      waiting: { ...other, metadata: { ...other.metadata, uid: second, creationTimestamp } },
    });
    for (const { running, waiting } of [twins('a', 'b'), twins('b', 'a')]) {
      expect(overlappedBy({ deployment: waiting, overlaps: [running] })).toEqual([running]);
      expect(overlappedBy({ deployment: running, overlaps: [waiting] })).toEqual([]);
      const goesOn = (...both: readonly (typeof running)[]) =>
        both
          .filter(
            (deployment) =>
              overlappedBy({ deployment, overlaps: both.filter((one) => one !== deployment) }).length === 0,
          )
          .map(({ metadata }) => metadata.uid);
      expect(goesOn({ ...running, metadata: { ...running.metadata, annotations: {} } }, waiting)).toEqual(['a']);
      const { annotations = {} } = running.metadata;
      expect(goesOn(running, { ...waiting, metadata: { ...waiting.metadata, annotations } })).toEqual(['a']);
    }
  });

  test('two deployments with overlapping selectors adopt no set that both select', async () => {
    await using world = await start();
    await world.deploy(0);
    await another(world, { app: 'pool', tier: 'x' }, 0);
    const labels = { app: 'pool', tier: 'x' };
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'orphan', labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.pass(60);
    const orphan = (await world.sets()).find(({ metadata }) => metadata.name === 'orphan');
    expect(orphan?.metadata.ownerReferences ?? []).toEqual([]);
    expect(orphan?.spec.replicas).toBe(1);
  });

  test('deployments that share one label and differ in another are independent', async () => {
    await using world = await start();
    await world.deploy(1);
    await another(world, { app: 'else' }, 1);
    await world.until(() => world.truth.store.size === 2, 60);
    await world.pass(5);
    expect([await types(world), await types(world, 'other')]).toEqual([WELL, WELL]);
  });
});

describe('a class that does not exist', () => {
  test('no machine is created until the class exists; then the deployment continues by itself', async () => {
    await using world = await start({ classes: [] });
    await world.deploy(2);
    await world.pass(120);
    expect([await world.sets(), await world.machines()]).toEqual([[], []]);
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({
      status: 'True',
      reason: 'ClassNotFound',
      message: expect.stringMatching(/^spec\.template\.spec\.class\.name: there is no MachineClass "small"/),
    });
    expect(await reported(world, 'InvalidSpec')).toHaveLength(1);
    const written = world.totalWrites();
    await world.pass(3_600);
    expect(world.totalWrites()).toBe(written);
    await world.createClass('small');
    await world.until(() => world.complete(), 60);
    await world.pass(5);
    expect(await types(world)).toEqual(WELL);
  });

  test.each(['small/er', '..'])('the name %s, which no class can have, is reported as missing', async (name) => {
    await using world = await start({ classes: ['small'] });
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    await world.changeClass(name);
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'alone', labels: { app: 'alone' } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'alone' } },
        template: { metadata: { labels: { app: 'alone' } }, spec: { class: { kind: 'MachineClass', name } } },
      },
    });
    await world.pass(60);
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({ status: 'True', reason: 'ClassNotFound' });
    const alone = (await world.sets()).find(({ metadata }) => metadata.name === 'alone');
    expect(alone?.status?.machineSetCondition).toMatchObject([{ type: 'InvalidSpec', reason: 'ClassNotFound' }]);
  });

  test('a rollout to a missing class does not begin: the machines stay, and can be scaled down', async () => {
    await using world = await start({ classes: ['small'] });
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.changeClass('nowhere');
    await world.pass(120);
    expect(await world.sizes()).toBe('small:3');
    expect(world.available()).toBe(3);
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({ reason: 'ClassNotFound' });
    await world.changeClass('small');
    await world.until(() => world.complete(), 60);
    await world.keeper.resource(machineDeployments, NAMESPACE).patch('pool', {
      type: 'merge',
      body: { spec: { replicas: 1 } },
    });
    await world.until(() => world.complete(), 60);
    expect(await types(world)).toEqual(WELL);
  });

  test('a deployment and a set whose class was deleted can still be scaled down', async () => {
    await using world = await start({ classes: ['small'] });
    await world.deploy(3);
    await world.until(() => world.complete(), 60);
    await world.keeper.resource(machineClasses, NAMESPACE).delete('small');
    await world.pass(5);
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({ reason: 'ClassNotFound' });
    await world.change({ spec: { replicas: 1 } });
    await world.until(() => world.truth.store.size === 1, 60);
    await world.pass(60);
    expect(await world.sizes()).toBe('small:1');
  });

  test('a set without a deployment waits too', async () => {
    await using world = await start({ classes: [] });
    const labels = { app: 'alone' };
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'alone', labels },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.pass(60);
    expect(await world.machines()).toEqual([]);
    const said = async () =>
      (await world.sets())[0]?.status?.machineSetCondition?.map(({ type, reason }) => `${type}/${reason}`);
    expect(await said()).toEqual(['InvalidSpec/ClassNotFound']);
    expect(await reported(world, 'InvalidSpec')).toHaveLength(1);
    const written = world.totalWrites();
    await world.pass(600);
    expect(world.totalWrites()).toBe(written);
    await world.createClass('small');
    await world.until(() => world.truth.store.size === 2, 30);
    await world.pass(5);
    expect(await said()).toEqual([]);
  });
});

describe('a class that is created together with its users', () => {
  const lateClasses = (): WorldOptions => ({
    classes: [],
    fault: async (request, answer, clock) => {
      const { pathname, searchParams } = new URL(request.url);
      const response = await answer();
      if (!pathname.endsWith('/machineclasses') || !searchParams.has('watch') || !response.body) return response;
      const late = new TransformStream<Uint8Array, Uint8Array>({
        transform: async (chunk, controller) => {
          await new Promise<void>((resolve) => clock.setTimeout(resolve, 3_000));
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(late), response);
    },
  });

  test('no warning about a class that the cache does not have yet', async () => {
    await using world = await start(lateClasses());
    await world.pass(5);
    await world.createClass('small');
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    expect(await reported(world, 'InvalidSpec')).toEqual([]);
    expect(await types(world)).toEqual(WELL);
  });

  test('a set without a deployment reports no warning about a class that the cache does not have yet', async () => {
    await using world = await start(lateClasses());
    await world.pass(5);
    await world.createClass('small');
    const labels = { app: 'alone' };
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name: 'alone', labels },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.until(() => world.truth.store.size === 2, 60);
    expect(await reported(world, 'InvalidSpec')).toEqual([]);
  });
});

test('PlanRefused: a plan that breaks a bound is not executed, is reported, and is cleared by a valid plan', async () => {
  let errs = true;
  await using world = await start({
    decide: (snapshot) => {
      if (errs)
        checkPlan({ current: undefined, old: [] }, new Map([['pool-x', -1]]), {
          replicas: 2,
          surge: 1,
          unavailable: 0,
          strategy: undefined,
        });
      return planRollout(snapshot);
    },
  });
  await world.deploy(2);
  await world.pass(30);
  expect([await world.sets(), await world.machines()]).toEqual([[], []]);
  const blocked = {
    reason: 'PlanRefused',
    message: 'mcm refused to scale MachineSet pool-x to -1, because the size must be an integer of 0 or more',
  };
  expect(await conditionOf(world, 'RolloutBlocked')).toMatchObject(blocked);
  expect(await reported(world, 'RolloutBlocked')).toHaveLength(1);
  errs = false;
  await world.until(() => world.complete(), 900);
  expect(await types(world)).toEqual(WELL);
});

describe('requests that cannot be met', () => {
  test('a rollback to a missing revision is reported, cleared, and remembered until the spec changes', async () => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const before = (await world.machines()).map(({ metadata }) => metadata.uid);
    await world.change({ spec: { rollbackTo: { revision: 7 } } });
    await world.pass(10);
    expect((await get(world)).spec.rollbackTo).toBeUndefined();
    expect(await conditionOf(world, 'RolloutBlocked')).toMatchObject({
      reason: 'RollbackRevisionNotFound',
      message: expect.stringContaining('revision 7'),
    });
    expect(await reported(world, 'DeploymentRollbackRevisionNotFound')).toHaveLength(1);
    await world.restart();
    await world.pass(60);
    expect(await conditionOf(world, 'RolloutBlocked')).toMatchObject({ reason: 'RollbackRevisionNotFound' });
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).toEqual(before);
    await world.change({ spec: { replicas: 3 } });
    await world.until(() => world.complete(), 60);
    await world.pass(5);
    expect(await types(world)).toEqual(WELL);
  });

  test('a selector that selects everything', async () => {
    await using world = await startBare();
    await world.deploy(2, { selector: {} });
    await world.pass(60);
    expect(await conditionOf(world, 'InvalidSpec')).toMatchObject({
      reason: 'SelectingAll',
      message: expect.stringMatching(/^spec\.selector: /),
    });
    expect(await reported(world, 'SelectingAll')).toHaveLength(1);
    expect((await get(world)).status?.observedGeneration).toBe((await get(world)).metadata.generation);
    expect([await world.sets(), await world.machines()]).toEqual([[], []]);
    await world.change({ spec: { selector: { matchLabels: { app: 'pool' } } } });
    await world.until(() => world.complete(), 60);
    await world.pass(5);
    expect(await types(world)).toEqual(WELL);
  });

  test('invalid rollout annotations are named, and nothing is created', async () => {
    await using world = await start();
    await world.deploy(2, {}, { annotations: { 'rollout.machine.sapcloud.io/canary-soak': 'a while' } });
    await world.pass(30);
    const condition = await conditionOf(world, 'InvalidSpec');
    expect(condition).toMatchObject({ reason: 'ValidationFailed' });
    expect(condition?.message).toContain('metadata.annotations[rollout.machine.sapcloud.io/canary-soak]');
    expect(await reported(world, 'InvalidSpec')).toHaveLength(1);
    expect(await world.sets()).toEqual([]);
  });
});

describe('the new set cannot be created', () => {
  const isCreation = (request: Request) => request.method === 'POST' && request.url.endsWith('/machinesets');
  const refusal = () =>
    Response.json(
      { kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'quota of sets', code: 403 },
      { status: 403 },
    );

  test('MachineSetCreateError gives the reason; the creation is retried, and the condition is removed', async () => {
    let refuses = true;
    await using world = await start({
      fault: async (request, answer) => (refuses && isCreation(request) ? refusal() : answer()),
    });
    await world.deploy(2);
    await world.pass(5);
    expect(await conditionOf(world, 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'MachineSetCreateError',
      message: expect.stringContaining('quota of sets'),
    });
    expect((await reported(world, 'MachineSetCreateError')).length).toBeGreaterThan(0);
    refuses = false;
    await world.until(() => world.complete(), 600);
    await world.pass(5);
    expect(await conditionOf(world, 'Progressing')).toMatchObject({ reason: 'NewMachineSetAvailable' });
  });

  test('in a namespace that is being deleted no condition is set [2.7]', async () => {
    const going = () =>
      new Response(
        JSON.stringify({
          kind: 'Status',
          apiVersion: 'v1',
          status: 'Failure',
          reason: 'Forbidden',
          message: 'the namespace is being terminated',
          details: { causes: [{ reason: 'NamespaceTerminating', message: 'it is being terminated' }] },
          code: 403,
        }),
        { status: 403, headers: { 'content-type': 'application/json' } },
      );
    await using world = await start({ fault: async (request, answer) => (isCreation(request) ? going() : answer()) });
    await world.deploy(2);
    await world.pass(30);
    expect(await conditionOf(world, 'Progressing')).toBeUndefined();
  });

  test('objects of another namespace are ignored [1.3]', async () => {
    await using world = await start();
    await world.keeper.resource(namespaces).create({ metadata: { name: 'elsewhere' } });
    await world.deploy(1);
    const { spec } = await get(world);
    await world.keeper
      .resource(machineDeployments, 'elsewhere')
      .create({ metadata: { name: 'pool', namespace: 'elsewhere' }, spec });
    await world.until(() => world.complete(), 60);
    await world.pass(60);
    const theirs = await world.keeper.resource(machineDeployments, 'elsewhere').get('pool');
    expect([theirs.metadata.finalizers, theirs.status]).toEqual([undefined, undefined]);
    expect((await world.keeper.resource(machineSets, 'elsewhere').list()).items).toEqual([]);
  });

  test('the name belongs to a set of another owner: another name is used, and the collision is counted', async () => {
    await using world = await start();
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    const [first] = await world.sets();
    const name = first?.metadata.name ?? '';
    await world.remove();
    await world.until(async () => (await world.sets()).length === 0, 60);
    const labels = { app: 'foreign' };
    await world.keeper.resource(machineSets, NAMESPACE).create({
      metadata: { name, labels },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    expect((await get(world)).status?.collisionCount).toBe(1);
    const foreign = (await world.sets()).find(({ metadata }) => metadata.name === name);
    expect(foreign?.metadata.labels).toEqual(labels);
    expect(foreign?.metadata.ownerReferences ?? []).toEqual([]);
    expect(await world.sets()).toHaveLength(2);
  });
});

describe('settings that have no effect as written', () => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '10%' } } as const;

  test('limits that are both rounded to 0 are reported, and one machine is rolled at a time', async () => {
    await using world = await start();
    await world.deploy(3, { strategy });
    await world.until(() => world.complete(), 60);
    expect(await types(world)).toEqual(['Available', 'InputIgnored', 'Progressing']);
    const said = await conditionOf(world, 'InputIgnored');
    expect(said).toMatchObject({ status: 'True', reason: 'LimitsComeToZero' });
    expect(said?.message).toContain(
      'spec.strategy.rollingUpdate: maxSurge 0 and maxUnavailable 10% allow no change of 3 machines',
    );
    expect(await reported(world, 'InputIgnored')).toHaveLength(1);
    await world.changeClass('large');
    await world.until(() => world.complete(), 120);
    await world.change({ spec: { replicas: 10 } });
    await world.until(() => world.complete(), 120);
    await world.pass(5);
    expect(await types(world)).toEqual(WELL);
    expect(await reported(world, 'InputIgnored')).toHaveLength(1);
  });

  test.each([
    ['all', 4, { maxSurge: 0, maxUnavailable: 1 }],
    ['a surge', 4, { maxSurge: '1%', maxUnavailable: 0 }],
    ['a percentage that is rounded to one', 10, { maxSurge: 0, maxUnavailable: '10%' }],
  ])('%s has no warning', async (_title, replicas, rollingUpdate) => {
    await using world = await start();
    await world.deploy(replicas, { strategy: { type: 'RollingUpdate', rollingUpdate } });
    await world.until(() => world.complete(), 60);
    expect(await types(world)).toEqual(WELL);
  });

  test.each([
    [Annotations.EffectiveCreationTimeout, 'soon', '20m'],
    [Annotations.LastReplicaChangeByScaler, 'yesterday', '2026-01-01T12:00:00Z'],
  ])('an invalid value of %s is reported, and no machine is created or deleted', async (key, rubbish, sense) => {
    await using world = await start();
    await world.deploy(2);
    await world.until(() => world.complete(), 60);
    const before = (await world.machines()).map(({ metadata }) => metadata.uid);
    await world.change({ metadata: { annotations: { [key]: rubbish } } });
    await world.pass(5);
    expect(await conditionOf(world, 'InputIgnored')).toMatchObject({ reason: 'AnnotationNotUnderstood' });
    const [event, ...more] = await reported(world, 'InputIgnored');
    expect([event?.type, more.length]).toEqual(['Warning', 0]);
    expect(event?.message).toContain(`metadata.annotations[${key}]: "${rubbish}" is ignored`);
    await world.change({ metadata: { annotations: { [key]: sense } } });
    await world.pass(5);
    expect(await types(world)).toEqual(WELL);
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  test.each(['true', 'yes', ''])(
    'freeze=%j on a deployment freezes nothing, and a condition reports it',
    async (text) => {
      await using world = await start();
      await world.deploy(1);
      await world.until(() => world.complete(), 60);
      await world.change({ metadata: { labels: { freeze: text } } });
      await world.pass(5);
      expect(await conditionOf(world, 'InputIgnored')).toMatchObject({
        reason: 'LabelNotUnderstood',
        message: `metadata.labels[freeze]: "${text}" has no effect; write "True", or remove the label.`,
      });
      expect(await reported(world, 'InputIgnored')).toHaveLength(1);
      await world.change({ metadata: { labels: { freeze: 'True' } } });
      await world.pass(5);
      expect(await conditionOf(world, 'InputIgnored')).toBeUndefined();
    },
  );

  test('freeze=true on a set freezes nothing, and one event reports it', async () => {
    await using world = await start();
    await world.deploy(1);
    await world.until(() => world.complete(), 60);
    const sets = world.keeper.resource(machineSets, NAMESPACE);
    const [set] = (await sets.list()).items;
    await sets.patch(set?.metadata.name ?? '', { type: 'merge', body: { metadata: { labels: { freeze: 'true' } } } });
    await world.pass(5);
    await sets.patch(set?.metadata.name ?? '', { type: 'merge', body: { metadata: { labels: { other: 'x' } } } });
    await world.pass(5);
    await world.restart();
    await world.pass(5);
    const events = await reported(world, 'InputIgnored');
    expect(events.map(({ involvedObject, message, count }) => [involvedObject.kind, message, count ?? 1])).toEqual([
      ['MachineSet', 'metadata.labels[freeze]: "true" has no effect; write "True", or remove the label', 1],
    ]);
  });
});
