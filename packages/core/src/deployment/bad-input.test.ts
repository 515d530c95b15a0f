import { Annotations, type MachineDeployment, machineDeployments, machineSets } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import type { Draft } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from './testing/world.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);

const rolling = (maxSurge: unknown, maxUnavailable: unknown) => ({
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
});
const selector = (matchLabels: object, matchExpressions: readonly object[] = []) => ({
  selector: { matchLabels, matchExpressions } as object,
});
const NEAR = selector({ app: 'pool' }, [{ key: 'app', operator: 'Near', values: ['pool'] }]);
const template = (machineClass: object) => ({
  template: { metadata: { labels: { app: 'pool' } }, spec: { class: machineClass } },
});

const WRONG: readonly [title: string, spec: object, field: string][] = [
  ['a selector that does not match the template', selector({ app: 'other' }), 'spec.selector.matchLabels'],
  ['a selector with an unknown operator', NEAR, 'spec.selector.matchExpressions'],
  ['negative replicas', { replicas: -1 }, 'spec.replicas'],
  ['too many replicas', { replicas: 3_000_000_000 }, 'spec.replicas'],
  ['replicas that are not an integer', { replicas: 1.5 }, 'spec.replicas'],
  ['a negative surge', rolling(-1, 1), 'spec.strategy.rollingUpdate.maxSurge'],
  ['a negative percentage', rolling('-5%', 1), 'spec.strategy.rollingUpdate.maxSurge'],
  ['a surge that is text', rolling('many', 1), 'spec.strategy.rollingUpdate.maxSurge'],
  ['a surge that is too large', rolling(3_000_000_000, 1), 'spec.strategy.rollingUpdate.maxSurge'],
  ['a surge over 100 percent', rolling('150%', 0), 'spec.strategy.rollingUpdate.maxSurge'],
  ['more than all unavailable', rolling(0, '101%'), 'spec.strategy.rollingUpdate.maxUnavailable'],
  ['surge and unavailable are 0', rolling(0, 0), 'spec.strategy.rollingUpdate'],
  ['surge and unavailable are 0 %', rolling('0%', '0%'), 'spec.strategy.rollingUpdate'],
  ['an unknown strategy', { strategy: { type: 'Blue' } }, 'spec.strategy.type'],
  ['a strategy in lower case', { strategy: { type: 'recreate' } }, 'spec.strategy.type'],
  ['a class without a name', template({ kind: 'MachineClass', name: '' }), 'spec.template.spec.class.name'],
  ['a class without a kind', template({ kind: '', name: 'small' }), 'spec.template.spec.class.kind'],
];

const pool = (spec: object, annotations: Record<string, string> = {}): Draft<MachineDeployment> =>
  ({
    metadata: { name: 'pool', annotations },
    spec: {
      replicas: 3,
      ...selector({ app: 'pool' }),
      ...template({ kind: 'MachineClass', name: 'small' }),
      ...rolling(1, 0),
      ...spec,
    },
  }) as Draft<MachineDeployment>;

const apply = (world: World, draft: Draft<MachineDeployment>) =>
  world.keeper.resource(machineDeployments, NAMESPACE).create(draft);

const invalid = async (world: World) =>
  (await world.deployment()).status?.conditions?.find(({ type }) => type === 'InvalidSpec');
const uids = async (world: World) => (await world.machines()).map(({ metadata }) => metadata.uid).sort();
const warnings = async (world: World) => (await world.events()).filter(({ type }) => type === 'Warning');

/**
 * The CRD refuses these values. After a take-over, stored objects may contain the values, so mcm must accept these
 * objects (docs/compatibility/rules-deployments.md §3.1).
 */
const MEANT: ReadonlySet<string> = new Set([
  'a surge over 100 percent',
  'more than all unavailable',
  'surge and unavailable are 0',
  'surge and unavailable are 0 %',
]);

describe('the server refuses it and names the field', () => {
  let world: World;
  beforeAll(async () => {
    world = await start();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.each(WRONG)('%s', async (_title, spec, field) => {
    const error = await apply(world, pool(spec)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 422 });
    const causes = (error as { status: { details?: { causes?: { field: string }[] } } }).status.details?.causes ?? [];
    expect(
      causes.some((cause) => cause.field.startsWith(field)),
      JSON.stringify(causes),
    ).toBe(true);
  });
});

describe('problems that the object alone shows', () => {
  test.each(WRONG.filter(([title]) => !MEANT.has(title)))(
    '%s: if it was stored, a condition and an event report it once, and no machine is lost',
    async (_title, spec, field) => {
      await using world = await start({ lax: true });
      await apply(world, pool({}));
      await world.until(() => world.complete(), 60);
      const before = await uids(world);
      await world.change({ spec });
      await world.pass(30);
      const condition = await invalid(world);
      expect(condition).toMatchObject({ status: 'True', reason: 'ValidationFailed' });
      expect(condition?.message).toContain(field);
      expect((await warnings(world)).map(({ reason, count }) => [reason, count ?? 1])).toEqual([['InvalidSpec', 1]]);
      expect([await uids(world), (await world.sets()).length]).toEqual([before, 1]);
      await world.change({ spec: pool({}).spec });
      await world.pass(5);
      expect([await invalid(world), await uids(world)]).toEqual([undefined, before]);
    },
  );

  test.each(WRONG.filter(([title]) => MEANT.has(title)))(
    '%s: a value from before the rules means one machine or all, and deletes none without a rollout',
    async (_title, spec) => {
      await using world = await start({ lax: true });
      await apply(world, pool(spec));
      await world.until(() => world.complete(), 60);
      await world.changeClass('large');
      let least = 3;
      world.context.machines.onChange(() => {
        least = Math.min(least, world.context.machines.store.size);
      });
      await world.until(() => world.complete(), 60);
      expect([await invalid(world), await world.sizes()]).toEqual([undefined, 'large:3 small:0']);
      expect(least).toBeGreaterThan(0);
    },
  );

  test('a deployment that was never valid creates no machines', async () => {
    await using world = await start({ lax: true });
    await apply(world, pool(rolling(-1, 'most')));
    await world.pass(700);
    expect([(await world.sets()).length, (await world.machines()).length]).toEqual([0, 0]);
    const message = (await invalid(world))?.message ?? '';
    expect(message).toContain('maxSurge');
    expect(message).toContain('maxUnavailable');
  });

  test('a missing selector is refused; it ends the process of the original [BUG-15]', async () => {
    await using world = await start({ lax: true });
    const { selector: _none, ...spec } = pool({}).spec;
    await apply(world, { metadata: { name: 'pool' }, spec } as Draft<MachineDeployment>);
    await world.pass(5);
    expect((await invalid(world))?.message).toContain('spec.selector');
  });

  test('an empty selector gets the event SelectingAll and creates no machines', async () => {
    await using world = await start();
    await apply(world, pool({ selector: {} }));
    await world.pass(5);
    const { status, metadata } = await world.deployment();
    expect([(await world.sets()).length, status?.observedGeneration]).toEqual([0, metadata.generation]);
    expect((await warnings(world)).map(({ reason }) => reason)).toEqual(['SelectingAll']);
  });

  test('an invalid set reports its error and keeps its machines', async () => {
    await using world = await start({ lax: true });
    await apply(world, pool({ paused: true }));
    await world.pass(1);
    const ms = world.keeper.resource(machineSets, NAMESPACE);
    await ms.create({
      metadata: { name: 'ms' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'alone' } },
        template: { metadata: { labels: { app: 'alone' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
      },
    });
    await world.until(() => world.available() === 2, 60);
    await ms.patch('ms', { type: 'merge', body: { spec: { replicas: -2 } } });
    await world.pass(5);
    const set = (await world.sets()).find(({ metadata }) => metadata.name === 'ms');
    expect(set?.status?.machineSetCondition).toContainEqual(
      expect.objectContaining({ type: 'InvalidSpec', status: 'True' }),
    );
    expect([world.available(), (await warnings(world)).map(({ reason }) => reason)]).toEqual([2, ['InvalidSpec']]);
  });
});

describe('problems that only the cluster shows', () => {
  test('a missing class is reported and stops the rollout until the class exists', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.changeClass('missing');
    await world.pass(120);
    expect(await invalid(world)).toMatchObject({ reason: 'ClassNotFound' });
    expect((await invalid(world))?.message).toContain(
      'spec.template.spec.class.name: there is no MachineClass "missing"',
    );
    expect([await uids(world), (await warnings(world)).map(({ count }) => count ?? 1)]).toEqual([before, [1]]);
    await world.createClass('missing');
    await world.until(() => world.complete(), 60);
    expect([await invalid(world), await world.sizes()]).toEqual([undefined, 'missing:3 small:0']);
  });

  test('a missing class: a paused deployment cannot be scaled up, but can be scaled down', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    await world.changeClass('missing');
    await world.change({ spec: { paused: true, replicas: 5 } });
    await world.pass(60);
    expect([await world.sizes(), (await invalid(world))?.reason]).toEqual(['small:3', 'ClassNotFound']);
    await world.change({ spec: { replicas: 2 } });
    await world.until(async () => (await world.sizes()) === 'small:2', 60);
  });

  test('an undo of a missing class returns to the revision of the machines, and the missing class gets no revision', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    for (const revision of [0, 2]) {
      await world.changeClass('missing');
      await world.pass(10);
      await world.change({ spec: { rollbackTo: { revision } } });
      await world.pass(10);
      const { spec } = await world.deployment();
      expect([spec.rollbackTo, spec.template.spec.class.name]).toEqual([undefined, 'large']);
      expect([await uids(world), await world.sizes()]).toEqual([before, 'large:3 small:0']);
    }
    await world.change({ spec: { rollbackTo: { revision: 0 } } });
    await world.until(async () => (await world.sizes()) === 'large:0 small:3', 60);
  });

  test('two deployments with overlapping selectors are both reported; the newer one neither creates nor adopts machines', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    // Creation times are rounded to seconds, so two deployments from the same second would have equal ages.
    await world.pass(2);
    await apply(world, { ...pool({}), metadata: { name: 'second' } });
    await world.pass(30);
    expect([await invalid(world), await uids(world), (await world.sets()).length]).toEqual([
      expect.objectContaining({
        reason: 'SelectorOverlaps',
        message: expect.stringContaining('MachineDeployment second'),
      }),
      before,
      1,
    ]);
    const second = await world.keeper.resource(machineDeployments, NAMESPACE).get('second');
    expect(second.status?.conditions?.find(({ type }) => type === 'InvalidSpec')?.message).toContain(
      'MachineDeployment pool',
    );
    expect([...new Set((await warnings(world)).map(({ involvedObject }) => involvedObject?.name))].sort()).toEqual([
      'pool',
      'second',
    ]);
  });

  test('a rollback to a missing revision is reported and cleared, and changes nothing', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.change({ spec: { rollbackTo: { revision: 7 } } });
    await world.pass(10);
    expect((await world.deployment()).spec.rollbackTo).toBeUndefined();
    const [event] = await warnings(world);
    expect([event?.reason, event?.message]).toEqual([
      'DeploymentRollbackRevisionNotFound',
      'spec.rollbackTo.revision: revision 7 does not exist; existing revisions: 1; spec.rollbackTo was cleared.',
    ]);
    expect(await uids(world)).toEqual(before);
  });

  type Row = [what: string, annotations: Record<string, string>, reason: string | undefined, named?: string];
  const INVALID_ANNOTATIONS: readonly Row[] = [
    ['a trigger with an invalid time', { [Annotations.TriggerDeletion]: 'x~yesterday~y' }, 'ScaleInRefused'],
    ['a trigger with an invalid name', { [Annotations.TriggerDeletion]: '???' }, 'ScaleInRefused'],
    ['a scale-in that is not JSON', { [Annotations.ScaleIn]: 'the big one' }, 'ScaleInRefused'],
    ['a canary that is not a number', { [Annotations.RolloutCanary]: 'some' }, 'InvalidSpec'],
    [
      'a soak time that is not a duration',
      { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: 'long' },
      'InvalidSpec',
    ],
    ['a pause that is not a duration', { [Annotations.RolloutBatchPause]: '5' }, 'InvalidSpec'],
    ['a revision that is not a number', { [Annotations.Revision]: 'the best' }, undefined],
    ['an invalid time of the scaler', { [Annotations.LastReplicaChangeByScaler]: 'now-ish' }, 'InputIgnored'],
    [
      'an invalid creation timeout',
      { 'node.machine.sapcloud.io/effective-creation-timeout': 'a while' },
      'InputIgnored',
    ],
    ['a minimum size without a maximum', { [Annotations.AutoscalerMinSize]: '1' }, 'InputIgnored', 'max-size'],
    ['a minimum size that is not a number', { [Annotations.AutoscalerMinSize]: 'one' }, 'InputIgnored'],
    [
      'a maximum size below the minimum size',
      { [Annotations.AutoscalerMinSize]: '3', [Annotations.AutoscalerMaxSize]: '2' },
      'InputIgnored',
    ],
    ['a kilobyte of random text', { 'example.org/x': '\u0001🙂"\\'.repeat(200) }, undefined],
  ];
  test.each<Row>(sampled(INVALID_ANNOTATIONS, 2))(
    'invalid annotations, %s: no machine is deleted',
    async (_title, annotations, reason, named = '') => {
      await using world = await start();
      await apply(world, pool({}));
      await world.until(() => world.complete(), 60);
      const before = await uids(world);
      await world.change({ metadata: { annotations } });
      await world.pass(30);
      expect(await uids(world)).toEqual(before);
      const reported = (await warnings(world)).filter(
        ({ involvedObject }) => involvedObject?.kind === 'MachineDeployment',
      );
      expect(reported.map((event) => event.reason)).toEqual(reason === undefined ? [] : [reason]);
      if (reason !== undefined)
        expect(reported[0]?.message).toContain(named || `metadata.annotations[${Object.keys(annotations).at(-1)}]`);
      world.writes.clear();
      await world.pass(600);
      expect(world.totalWrites()).toBe(0);
    },
  );

  test('invalid annotations of sets and machines are ignored', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const [set] = await world.sets();
    const [first, ...others] = (await world.machines()).map(({ metadata }) => metadata.name).sort();
    const annotations = {
      [Annotations.DesiredReplicas]: 'x',
      [Annotations.MaxReplicas]: '-',
      [Annotations.Revision]: '?',
    };
    await world.keeper
      .resource(machineSets, NAMESPACE)
      .patch(set?.metadata.name ?? '', { type: 'merge', body: { metadata: { annotations } } });
    await world.patchMachine(first ?? '', {
      metadata: {
        annotations: {
          [Annotations.Priority]: 'low',
          [Annotations.MarkedForDeletionTime]: 'soon',
          [Annotations.Preserve]: 'forever',
        },
      },
    });
    await world.pass(30);
    expect(world.available()).toBe(3);
    await world.change({ spec: { replicas: 2 } });
    await world.until(() => world.complete(), 60);
    expect(others.length).toBe(2);
  });

  test.each([
    ['an unknown operator in their selectors', NEAR],
    ['negative replicas', { replicas: -1 }],
  ])('a deployment and its sets with %s can be deleted', async (_title, spec) => {
    await using world = await start({ lax: true });
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const [set] = await world.sets();
    await world.change({ spec });
    await world.keeper
      .resource(machineSets, NAMESPACE)
      .patch(set?.metadata.name ?? '', { type: 'merge', body: { spec } });
    await world.pass(5);
    await world.remove();
    await world.until(async () => (await world.sets()).length === 0 && (await world.machines()).length === 0, 60);
    const left = await world.keeper.resource(machineDeployments, NAMESPACE).list();
    expect(left.items).toEqual([]);
  });

  test('an owner reference with the uid of another object is ignored', async () => {
    await using world = await start();
    await apply(world, pool({}));
    await world.until(() => world.complete(), 60);
    const [set] = await world.sets();
    const namesake = {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'MachineSet',
      name: set?.metadata.name ?? '',
      uid: 'of-the-one-before',
      controller: true,
      blockOwnerDeletion: true,
    };
    const labels = { ...set?.spec.template.metadata?.labels };
    await world.addMachine({ name: 'theirs', labels, ownerReferences: [namesake] });
    await world.pass(30);
    const theirs = (await world.machines()).find(({ metadata }) => metadata.name === 'theirs');
    expect([theirs?.metadata.ownerReferences, theirs?.metadata.deletionTimestamp]).toEqual([[namesake], undefined]);
    expect(world.context.machines.store.size).toBe(4);
    await world.remove();
    await world.until(async () => (await world.sets()).length === 0, 60);
    expect((await world.machines()).map(({ metadata }) => metadata.name)).toEqual(['theirs']);
  });
});
