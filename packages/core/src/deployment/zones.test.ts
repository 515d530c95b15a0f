import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World, type WorldOptions } from './testing/world.ts';
import { annotate, inZone, startZoned, staying, ZONE_LIST, zoneCounts } from './testing/zoned-world.ts';

const { Zones, ZonesEvacuated, ZonesMaxUnavailable } = Annotations;

const start = (replicas: number, spec?: object, options?: WorldOptions) =>
  startZoned(startControlPlane, replicas, spec, options);

test('machines are spread across the zones, and each records its zone and offering', async () => {
  await using world = await start(8);
  expect(zoneCounts(world)).toEqual([3, 3, 2]);
  const [machine] = inZone(world, 'b');
  expect(machine?.metadata.annotations).toMatchObject({
    [Annotations.ZoneOffering]: '{"zone":"b","subnet":"sb"}',
    [Annotations.CapacityOffering]: '{"zone":"b","subnet":"sb"}',
  });
});

test('a scale-up and a scale-down keep the zones balanced', async () => {
  await using world = await start(3);
  await world.change({ spec: { replicas: 7 } });
  await world.pass(60);
  expect(zoneCounts(world)).toEqual([3, 2, 2]);
  await world.change({ spec: { replicas: 4 } });
  await world.pass(60);
  expect(zoneCounts(world).toSorted()).toEqual([1, 1, 2]);
});

test('without the annotation, machines have no zone, and the set has the annotations of the original', async () => {
  await using world = await World.start(startControlPlane);
  await world.deploy(3);
  await world.until(() => world.complete(), 600);
  const keys = (await world.machines()).flatMap(({ metadata }) => Object.keys(metadata.annotations ?? {}));
  expect(keys.filter((key) => key.startsWith('zones.') || key.startsWith('capacity.'))).toEqual([]);
});

test.each(['a', 'b', 'c'])('a failed machine of zone %s is replaced in this zone', async (zone) => {
  await using world = await start(5, {}, { deathMs: () => 60_000 });
  const before = zoneCounts(world);
  const [failed] = inZone(world, zone);
  await world.setPhase(failed?.metadata.name ?? '', 'Failed');
  await world.pass(10);
  expect(zoneCounts(world)).toEqual(before);
  await world.pass(300);
  expect(zoneCounts(world)).toEqual(before);
});

test('a rollout keeps the zones balanced, within its limits', async () => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } };
  await using world = await start(9, { strategy }, { birthMs: () => 5_000, deathMs: () => 5_000 });
  await world.changeClass('large');
  const seen: number[] = [];
  await world.until(async () => {
    const all = staying(world);
    seen.push(all.filter(({ status }) => status?.currentStatus?.phase === 'Running').length);
    expect(all.length).toBeLessThanOrEqual(11);
    return world.complete() && all.every(({ spec }) => spec.class.name === 'large');
  }, 600);
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(8);
  await world.pass(60);
  expect(zoneCounts(world)).toEqual([3, 3, 3]);
});

const withoutMachineInB = async (options: WorldOptions = {}): Promise<World> => {
  const world = await start(3, {}, options);
  const [named] = inZone(world, 'b');
  const annotations = {
    [Annotations.TriggerDeletion]: `${named?.metadata.name}~2026-01-01T13:00:00Z`,
    [Annotations.LastReplicaChangeByScaler]: '2026-01-01T13:00:00Z',
  };
  await world.change({ metadata: { annotations }, spec: { replicas: 2 } });
  await world.pass(60);
  expect(zoneCounts(world)).toEqual([1, 0, 1]);
  return world;
};

test('a machine that was deleted is replaced in its zone, also if another zone has no machine', async () => {
  await using world = await withoutMachineInB();
  for (const zone of ['c', 'a', 'c']) {
    const [lost] = inZone(world, zone);
    await world.deleteMachine(lost?.metadata.name ?? '');
    await world.pass(60);
    expect(zoneCounts(world)).toEqual([1, 0, 1]);
  }
  const [replacement] = inZone(world, 'c');
  expect(replacement?.metadata.annotations?.[Annotations.ZoneReason]).toBe(
    'the new machine replaces a machine of this zone',
  );
});

const recordedZones = async (world: World): Promise<string | undefined> =>
  (await world.sets()).map(({ metadata }) => metadata.annotations?.[Annotations.ZonesOfReplicas])[0];

test.each(['a', 'c'])(
  'a machine of zone %s that was deleted without a running manager is replaced in its zone',
  async (zone) => {
    await using world = await withoutMachineInB();
    expect(await recordedZones(world)).toBe('a=1,c=1');
    await world.stop();
    const [lost] = inZone(world, zone);
    await world.deleteMachine(lost?.metadata.name ?? '');
    await world.clock.advance(60_000);
    await world.restart();
    await world.pass(60);
    expect(zoneCounts(world)).toEqual([1, 0, 1]);
    expect(await recordedZones(world)).toBe('a=1,c=1');
  },
);

test('a lost machine whose replacement could not be created keeps its zone after a restart', async () => {
  let isRefused = false;
  await using world = await withoutMachineInB({
    fault: async (request, answer) => {
      if (isRefused && request.method === 'POST' && request.url.endsWith('/machines')) throw new Error('no answer');
      return answer();
    },
  });
  isRefused = true;
  const [lost] = inZone(world, 'c');
  await world.deleteMachine(lost?.metadata.name ?? '');
  await world.pass(120);
  expect(await recordedZones(world)).toBe('a=1,c=1');
  await world.restart();
  isRefused = false;
  await world.pass(120);
  expect(zoneCounts(world)).toEqual([1, 0, 1]);
});

test('the record of the zones follows the replicas, and a steady set writes nothing', async () => {
  let writes = 0;
  await using world = await start(
    4,
    {},
    {
      fault: async (request, answer) => {
        if (request.method === 'PATCH' && request.url.includes('/machinesets/')) writes += 1;
        return answer();
      },
    },
  );
  expect(await recordedZones(world)).toBe('a=2,b=1,c=1');
  writes = 0;
  const [machine] = await world.machines();
  await world.patchMachine(machine?.metadata.name ?? '', { metadata: { labels: { changed: 'true' } } });
  await world.pass(120);
  expect(writes).toBe(0);
  await world.change({ spec: { replicas: 3 } });
  await world.pass(60);
  expect(await recordedZones(world)).toBe('a=1,b=1,c=1');
  await world.change({ spec: { replicas: 0 } });
  await world.pass(60);
  await world.until(async () => (await recordedZones(world)) === undefined, 60);
});

test.each([
  ['with a surge', { maxSurge: 1, maxUnavailable: 0 }],
  ['without a surge', { maxSurge: 0, maxUnavailable: 1 }],
])(
  'a rollout %s replaces machines in their zones, also if another zone has no machine',
  async (_what, rollingUpdate) => {
    await using world = await withoutMachineInB({ birthMs: () => 5_000, deathMs: () => 5_000 });
    await world.change({ spec: { strategy: { type: 'RollingUpdate', rollingUpdate } } });
    await world.changeClass('large');
    const isRolled = async () => world.complete() && staying(world).every(({ spec }) => spec.class.name === 'large');
    await world.until(isRolled, 600);
    await world.pass(60);
    expect(zoneCounts(world)).toEqual([1, 0, 1]);
  },
);

test.each<[limit: string | null, least: number]>([
  ['1', 2],
  ['34%', 2],
  [null, 1],
])('a rollout with the limit %s for each zone keeps %i machines of each zone available', async (limit, least) => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 6 } };
  await using world = await start(9, { strategy }, { birthMs: () => 5_000, deathMs: () => 5_000 });
  await annotate(world, { [ZonesMaxUnavailable]: limit });
  await world.changeClass('large');
  const seen: number[] = [];
  await world.until(async () => {
    for (const zone of ['a', 'b', 'c']) {
      const up = inZone(world, zone).filter(({ status }) => status?.currentStatus?.phase === 'Running');
      seen.push(up.length);
    }
    return world.complete() && staying(world).every(({ spec }) => spec.class.name === 'large');
  }, 600);
  expect(Math.min(...seen)).toBe(least);
  await world.pass(60);
  expect(zoneCounts(world)).toEqual([3, 3, 3]);
});

test('if the annotations of the deployment and its machines are removed, no machine is replaced', async () => {
  await using world = await start(6);
  const uids = async () => (await world.machines()).map(({ metadata }) => metadata.uid).toSorted();
  const before = await uids();
  const { ZoneOffering, ZoneReason, CapacityOffering } = Annotations;
  const none = { [ZoneOffering]: null, [ZoneReason]: null, [CapacityOffering]: null };
  for (const { metadata } of await world.machines())
    await world.patchMachine(metadata.name, { metadata: { annotations: none } });
  await world.pass(1800);
  expect(await uids()).toEqual(before);
  await annotate(world, { [Zones]: null });
  await world.pass(1800);
  await annotate(world, { [Zones]: ZONE_LIST });
  await world.restart();
  await world.pass(1800);
  expect(await uids()).toEqual(before);
  expect(world.complete()).toBe(true);
});

test('a machine that the autoscaler names is deleted, and then the zones are balanced again', async () => {
  await using world = await start(6, {}, { birthMs: () => 5_000 });
  const named = inZone(world, 'a');
  const list = named.map(({ metadata }) => `${metadata.name}~2026-01-01T13:00:00Z`).join(',');
  await world.change({
    metadata: {
      annotations: {
        [Annotations.TriggerDeletion]: list,
        [Annotations.LastReplicaChangeByScaler]: '2026-01-01T13:00:00Z',
      },
    },
    spec: { replicas: 4 },
  });
  await world.pass(120);
  const left = (await world.machines()).map(({ metadata }) => metadata.uid);
  expect(named.filter(({ metadata }) => left.includes(metadata.uid))).toEqual([]);
  expect(zoneCounts(world).toSorted()).toEqual([1, 1, 2]);
});

test.each<[what: string, annotations: Record<string, string>, why: RegExp]>([
  ['no JSON', { [Zones]: 'a,b' }, /zones\]: is not a JSON list/],
  ['no zone', { [Zones]: '[{"machineType":"large"}]' }, /zones\]\[0\]\.zone: is missing; write the name of the zone/],
  ['a repeated zone', { [Zones]: '[{"zone":"a"},{"zone":"a"}]' }, /\[1\]\.zone: a occurs twice/],
  [
    'an unknown zone',
    { [Zones]: ZONE_LIST, [ZonesEvacuated]: 'x' },
    /evacuated\]: contains x, which the list of zones does not contain/,
  ],
  [
    'no zone left',
    { [Zones]: ZONE_LIST, [ZonesEvacuated]: 'a,b,c' },
    /contains all zones, so machines can run in no zone/,
  ],
  ['no list', { [ZonesEvacuated]: 'a' }, /has no effect without the annotation zones\.machine/],
  [
    'a limit without a list',
    { [ZonesMaxUnavailable]: '1' },
    /unavailable\]: has no effect without the annotation zones\.machine/,
  ],
  [
    'a limit of 0',
    { [Zones]: ZONE_LIST, [ZonesMaxUnavailable]: '0' },
    /must be a number of at least 1, or a percentage such as 25%, not "0"/,
  ],
  [
    'a limit that is no number',
    { [Zones]: ZONE_LIST, [ZonesMaxUnavailable]: 'one' },
    /must be a number of .* not "one"/,
  ],
  [
    'warm machines',
    { [Zones]: ZONE_LIST, [Annotations.WarmMachines]: '1' },
    /cannot be combined with annotation warm\.machine/,
  ],
  [
    'warm machines for a capacity buffer',
    { [Zones]: ZONE_LIST, [Annotations.WarmBuffer]: 'default/web', [Annotations.WarmBufferMachines]: '1' },
    /cannot be combined with annotation warm\.machine\.sapcloud\.io\/capacity-buffer;/,
  ],
])(
  '%s: the deployment is refused with the field and the fix, and no machine is created',
  async (_what, annotations, why) => {
    await using world = await World.start(startControlPlane);
    await world.deploy(3, {}, { annotations });
    await world.pass(30);
    expect(await world.machines()).toEqual([]);
    const condition = (await world.deployment()).status?.conditions?.find(({ type }) => type === 'InvalidSpec');
    expect(condition?.message).toMatch(why);
  },
);
