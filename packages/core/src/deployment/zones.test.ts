import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, test } from 'vitest';
import { zoneOfferingOf } from '../driver/offerings/alternative.ts';
import { World, type WorldOptions } from './testing/world.ts';

const { Zones, ZonesEvacuated, ZonesMaxUnavailable, ZonesStandby } = Annotations;
const LIST = JSON.stringify([{ zone: 'a' }, { zone: 'b', subnet: 'sb' }, { zone: 'c' }]);

const start = async (replicas: number, spec: object = {}, options: WorldOptions = {}): Promise<World> => {
  const world = await World.start(startControlPlane, options);
  await world.deploy(replicas, spec, { annotations: { [Zones]: LIST } });
  await world.until(() => world.complete(), 600);
  await world.pass(5);
  return world;
};

const zoneOf = (machine: Machine) => zoneOfferingOf(machine)?.zone ?? 'none';
const staying = async (world: World) =>
  (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const inZone = async (world: World, zone: string) => (await staying(world)).filter((one) => zoneOf(one) === zone);

const counts = async (world: World): Promise<readonly number[]> =>
  Promise.all(['a', 'b', 'c'].map(async (zone) => (await inZone(world, zone)).length));

const annotate = (world: World, annotations: Record<string, string | null>) =>
  world.change({ metadata: { annotations } });

const evented = async (world: World, reason: string) =>
  (await world.events()).filter((event) => event.reason === reason).map(({ message }) => message);

test('machines are spread across the zones, and each records its zone and offering', async () => {
  await using world = await start(8);
  expect(await counts(world)).toEqual([3, 3, 2]);
  const [machine] = await inZone(world, 'b');
  expect(machine?.metadata.annotations).toMatchObject({
    [Annotations.ZoneOffering]: '{"zone":"b","subnet":"sb"}',
    [Annotations.CapacityOffering]: '{"zone":"b","subnet":"sb"}',
  });
});

test('a scale-up and a scale-down keep the zones balanced', async () => {
  await using world = await start(3);
  await world.change({ spec: { replicas: 7 } });
  await world.pass(60);
  expect(await counts(world)).toEqual([3, 2, 2]);
  await world.change({ spec: { replicas: 4 } });
  await world.pass(60);
  expect((await counts(world)).toSorted()).toEqual([1, 1, 2]);
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
  const before = await counts(world);
  const [failed] = await inZone(world, zone);
  await world.setPhase(failed?.metadata.name ?? '', 'Failed');
  await world.pass(10);
  expect(await counts(world)).toEqual(before);
  await world.pass(300);
  expect(await counts(world)).toEqual(before);
});

test('a rollout keeps the zones balanced, within its limits', async () => {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } };
  await using world = await start(9, { strategy }, { birthMs: () => 5_000, deathMs: () => 5_000 });
  await world.changeClass('large');
  const seen: number[] = [];
  await world.until(async () => {
    const all = await staying(world);
    seen.push(all.filter(({ status }) => status?.currentStatus?.phase === 'Running').length);
    expect(all.length).toBeLessThanOrEqual(11);
    return world.complete() && all.every(({ spec }) => spec.class.name === 'large');
  }, 600);
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(8);
  await world.pass(60);
  expect(await counts(world)).toEqual([3, 3, 3]);
});

/** Deletes the only machine of zone b. */
const withoutMachineInB = async (options: WorldOptions = {}): Promise<World> => {
  const world = await start(3, {}, options);
  const [named] = await inZone(world, 'b');
  const annotations = {
    [Annotations.TriggerDeletion]: `${named?.metadata.name}~2026-01-01T13:00:00Z`,
    [Annotations.LastReplicaChangeByScaler]: '2026-01-01T13:00:00Z',
  };
  await world.change({ metadata: { annotations }, spec: { replicas: 2 } });
  await world.pass(60);
  expect(await counts(world)).toEqual([1, 0, 1]);
  return world;
};

test('a machine that was deleted is replaced in its zone, also if another zone has no machine', async () => {
  await using world = await withoutMachineInB();
  for (const zone of ['c', 'a', 'c']) {
    const [lost] = await inZone(world, zone);
    await world.deleteMachine(lost?.metadata.name ?? '');
    await world.pass(60);
    expect(await counts(world)).toEqual([1, 0, 1]);
  }
  const [replacement] = await inZone(world, 'c');
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
    const [lost] = await inZone(world, zone);
    await world.deleteMachine(lost?.metadata.name ?? '');
    await world.clock.advance(60_000);
    await world.restart();
    await world.pass(60);
    expect(await counts(world)).toEqual([1, 0, 1]);
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
  const [lost] = await inZone(world, 'c');
  await world.deleteMachine(lost?.metadata.name ?? '');
  await world.pass(120);
  expect(await recordedZones(world)).toBe('a=1,c=1');
  await world.restart();
  isRefused = false;
  await world.pass(120);
  expect(await counts(world)).toEqual([1, 0, 1]);
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
    const isRolled = async () =>
      world.complete() && (await staying(world)).every(({ spec }) => spec.class.name === 'large');
    await world.until(isRolled, 600);
    await world.pass(60);
    expect(await counts(world)).toEqual([1, 0, 1]);
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
      const up = (await inZone(world, zone)).filter(({ status }) => status?.currentStatus?.phase === 'Running');
      seen.push(up.length);
    }
    return world.complete() && (await staying(world)).every(({ spec }) => spec.class.name === 'large');
  }, 600);
  expect(Math.min(...seen)).toBe(least);
  await world.pass(60);
  expect(await counts(world)).toEqual([3, 3, 3]);
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
  await annotate(world, { [Zones]: LIST });
  await world.restart();
  await world.pass(1800);
  expect(await uids()).toEqual(before);
  expect(world.complete()).toBe(true);
});

test('a machine that the autoscaler names is deleted, and then the zones are balanced again', async () => {
  await using world = await start(6, {}, { birthMs: () => 5_000 });
  const named = await inZone(world, 'a');
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
  expect((await counts(world)).toSorted()).toEqual([1, 1, 2]);
});

describe('an evacuation', () => {
  test.each([
    ['with a surge', { maxSurge: 1, maxUnavailable: 0 }, 6, 7],
    ['without a surge', { maxSurge: 0, maxUnavailable: 1 }, 5, 6],
    ['with both', { maxSurge: 2, maxUnavailable: 2 }, 6, 8],
  ])('%s moves all machines, within the limits, and the zone returns', async (_what, rollingUpdate, least, most) => {
    const strategy = { type: 'RollingUpdate', rollingUpdate };
    await using world = await start(6, { strategy }, { birthMs: () => 5_000, deathMs: () => 5_000 });
    const kept = [...(await inZone(world, 'b')), ...(await inZone(world, 'c'))].map(({ metadata }) => metadata.uid);
    const verify = async (): Promise<void> => {
      expect(world.available()).toBeGreaterThanOrEqual(least);
      expect((await world.machines()).length).toBeLessThanOrEqual(most + 2);
      expect((await staying(world)).length).toBeLessThanOrEqual(most);
    };
    const settled = (wanted: string) => async () => {
      await verify();
      return world.complete() && (await counts(world)).join() === wanted;
    };
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.until(settled('0,3,3'), 600);
    await world.pass(120);
    expect(await counts(world)).toEqual([0, 3, 3]);
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(kept));
    await annotate(world, { [ZonesEvacuated]: null });
    await world.until(settled('2,2,2'), 600);
    await world.pass(120);
    expect(await counts(world)).toEqual([2, 2, 2]);
  });

  test('an evacuation of a zone whose machines are unreachable replaces them', async () => {
    await using world = await start(9, {}, { birthMs: () => 5_000 });
    for (const { metadata } of await inZone(world, 'a')) await world.setPhase(metadata.name, 'Unknown');
    await world.pass(600);
    expect(await counts(world)).toEqual([3, 3, 3]);
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(600);
    expect((await counts(world)).toSorted()).toEqual([0, 4, 5]);
    expect(world.complete()).toBe(true);
  });

  test('an evacuation keeps preserved machines and machines with a higher priority, and moves no other machine for them', async () => {
    await using world = await start(6);
    const [kept, moved] = await inZone(world, 'a');
    await world.patchMachine(kept?.metadata.name ?? '', { metadata: { annotations: { [Annotations.Priority]: '5' } } });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(600);
    expect((await counts(world)).toSorted()).toEqual([1, 2, 3]);
    const names = (await world.machines()).map(({ metadata }) => metadata.name);
    expect(names).toContain(kept?.metadata.name);
    expect(names).not.toContain(moved?.metadata.name);
    const written = world.totalWrites();
    await world.pass(3600);
    expect(world.totalWrites() - written).toBeLessThan(10);
  });

  test('an evacuation does not delete a machine before a new one in another zone is available', async () => {
    await using world = await start(3, {}, { birthMs: (_machine, index) => (index < 3 ? 100 : undefined) });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(600);
    expect((await staying(world)).length).toBe(4);
    expect(world.available()).toBe(3);
    expect((await inZone(world, 'a')).length).toBe(1);
  });

  test('an evacuation continues after a restart of the manager at any time', async () => {
    await using world = await start(6, {}, { birthMs: () => 5_000, deathMs: () => 5_000 });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    for (let restarts = 0; restarts < 8; restarts++) {
      await world.pass(3);
      await world.restart();
      const running = world.truth.store.list().filter(({ status }) => status?.currentStatus?.phase === 'Running');
      expect(running.length).toBeGreaterThanOrEqual(6);
    }
    await world.pass(300);
    expect(await counts(world)).toEqual([0, 3, 3]);
  });
});

describe('an evacuation while a zone has no capacity', () => {
  /** In the zones of `full`, no new machine gets a VM, and its status reports the refusal. */
  const withFullZones = (full: ReadonlySet<string>): WorldOptions => ({
    birthMs: (machine) => (full.has(zoneOf(machine)) ? undefined : 5_000),
    deathMs: () => 5_000,
  });
  const refuse = async (world: World, full: ReadonlySet<string>, record: string | null = null): Promise<void> => {
    const lastOperation = { errorCode: 'ResourceExhausted', state: 'Failed', type: 'Create', description: 'no cores' };
    for (const machine of await staying(world)) {
      const { name } = machine.metadata;
      if (!full.has(zoneOf(machine)) || machine.status?.currentStatus?.phase !== undefined) continue;
      await world.patchMachine(name, { metadata: { annotations: { [Annotations.CapacityOffering]: record } } });
      await world.setPhase(name, 'CrashLoopBackOff', { lastOperation });
    }
  };

  test.each([
    ['with a surge', { maxSurge: 1, maxUnavailable: 0 }, 6],
    ['without a surge', { maxSurge: 0, maxUnavailable: 1 }, 5],
    ['with both', { maxSurge: 3, maxUnavailable: 2 }, 6],
  ])(
    '%s moves the machines to the zone with capacity, and tries the other zone later',
    async (_what, rollingUpdate, least) => {
      const full = new Set<string>();
      const strategy = { type: 'RollingUpdate', rollingUpdate };
      await using world = await start(6, { strategy }, withFullZones(full));
      full.add('b');
      await annotate(world, { [ZonesEvacuated]: 'a' });
      for (let waited = 0; waited < 300; waited++) {
        await world.pass(1);
        await refuse(world, full);
        expect(world.available()).toBeGreaterThanOrEqual(least);
      }
      expect(await counts(world)).toEqual([0, 2, 4]);
      expect((await world.deployment()).metadata.annotations?.[Annotations.ZonesShort]).toMatch(/^b=2026-/);
      expect(await evented(world, 'ZoneShort')).toEqual([
        'The cloud has no capacity in zone b. mcm creates the replacement machines in other zones.',
      ]);
      full.clear();
      await world.pass(3600);
      expect(await counts(world)).toEqual([0, 3, 3]);
      expect((await world.deployment()).metadata.annotations?.[Annotations.ZonesShort]).toBeUndefined();
    },
  );

  const waiting = async (world: World): Promise<readonly string[]> =>
    (await staying(world)).filter(({ status }) => status?.currentStatus?.phase === 'CrashLoopBackOff').map(zoneOf);

  test('if no zone has capacity, one machine waits in the last zone, and mcm stops writing', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    for (const zone of ['b', 'c']) full.add(zone);
    await annotate(world, { [ZonesEvacuated]: 'a' });
    for (let waited = 0; waited < 60; waited++) {
      await world.pass(1);
      await refuse(world, full);
    }
    expect([await counts(world), await waiting(world), world.available()]).toEqual([[2, 2, 3], ['c'], 6]);
    const written = world.totalWrites();
    await world.pass(1200);
    expect(world.totalWrites()).toBe(written);
  });

  test('if all other zones are full at once, no zone closes', async () => {
    const full = new Set<string>();
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } };
    await using world = await start(6, { strategy }, withFullZones(full));
    for (const zone of ['b', 'c']) full.add(zone);
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(5);
    await refuse(world, full);
    await world.pass(60);
    expect((await waiting(world)).toSorted()).toEqual(['b', 'c']);
    expect(await evented(world, 'ZoneShort')).toEqual([]);
  });

  test('while the deletion of a machine without a VM fails, the set loses no other machine', async () => {
    const full = new Set<string>();
    let fails = true;
    const tried = new Set<string>();
    const refusesDeletions: WorldOptions['fault'] = async ({ method, url }, answer) => {
      if (!fails || method !== 'DELETE' || !url.includes('/machines/')) return answer();
      tried.add(url.split('/').at(-1) ?? '');
      throw new Error('connection reset');
    };
    await using world = await start(6, {}, { ...withFullZones(full), fault: refusesDeletions });
    full.add('b');
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(5);
    await refuse(world, full);
    for (let change = 0; change < 10; change++) {
      await annotate(world, { note: String(change) });
      await world.pass(10);
      await world.restart();
    }
    expect(tried.size).toBe(1);
    fails = false;
    await world.pass(600);
    expect([await counts(world), world.available()]).toEqual([[0, 2, 4], 6]);
  });

  test('a machine that tries another alternative of its zone stays', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    full.add('b');
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(5);
    await refuse(world, full, '{"zone":"b","machineType":"large"}');
    await world.pass(60);
    expect([await counts(world), await waiting(world)]).toEqual([[2, 3, 2], ['b']]);
  });

  test('without an evacuation, a machine waits in its zone', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    for (const zone of ['a', 'b', 'c']) full.add(zone);
    await world.change({ spec: { replicas: 7 } });
    await world.pass(5);
    await refuse(world, full);
    const before = await waiting(world);
    await world.pass(3600);
    expect(before).toHaveLength(1);
    expect(await waiting(world)).toEqual(before);
    expect((await world.deployment()).metadata.annotations?.[Annotations.ZonesShort]).toBeUndefined();
  });
});

describe('a zone whose machines are all unreachable', () => {
  const lose = async (world: World, zone: string) => {
    for (const { metadata } of await inZone(world, zone)) await world.setPhase(metadata.name, 'Unknown');
    await world.pass(5);
  };

  test('a zone without reachable machines is on standby until a machine is Ready again: new machines go to the other zones', async () => {
    await using world = await start(9, {}, { birthMs: () => 5_000 });
    await lose(world, 'b');
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toMatch(/^b=2026-/);
    await world.change({ spec: { replicas: 13 } });
    await world.pass(120);
    expect(await counts(world)).toEqual([5, 3, 5]);
    for (const { metadata } of await inZone(world, 'b')) await world.setPhase(metadata.name, 'Running');
    await world.pass(300);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toBeUndefined();
    expect((await counts(world)).toSorted()).toEqual([4, 4, 5]);
    expect(await evented(world, 'ZoneStandby')).toHaveLength(1);
    expect(await evented(world, 'ZoneReturned')).toHaveLength(1);
  });

  test('one unreachable machine of several does not put its zone on standby', async () => {
    await using world = await start(6);
    const [one] = await inZone(world, 'b');
    await world.setPhase(one?.metadata.name ?? '', 'Unknown');
    await world.pass(60);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toBeUndefined();
  });

  test('a zone stays on standby after a restart while its failed machines are replaced, and is tried again later', async () => {
    await using world = await start(6, {}, { birthMs: () => 5_000 });
    await lose(world, 'b');
    for (const { metadata } of await inZone(world, 'b')) await world.setPhase(metadata.name, 'Failed');
    await world.restart();
    await world.pass(300);
    expect(await counts(world)).toEqual([3, 0, 3]);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toMatch(/^b=2026-/);
    await world.pass(2400);
    expect(await counts(world)).toEqual([2, 2, 2]);
  });
});

test.each<[what: string, annotations: Record<string, string>, why: RegExp]>([
  ['no JSON', { [Zones]: 'a,b' }, /zones\]: is not a JSON list/],
  ['no zone', { [Zones]: '[{"machineType":"large"}]' }, /zones\]\[0\]\.zone: is missing; write the name of the zone/],
  ['a repeated zone', { [Zones]: '[{"zone":"a"},{"zone":"a"}]' }, /\[1\]\.zone: a occurs twice/],
  [
    'an unknown zone',
    { [Zones]: LIST, [ZonesEvacuated]: 'x' },
    /evacuated\]: contains x, which the list of zones does not contain/,
  ],
  ['no zone left', { [Zones]: LIST, [ZonesEvacuated]: 'a,b,c' }, /contains all zones, so machines can run in no zone/],
  ['no list', { [ZonesEvacuated]: 'a' }, /has no effect without the annotation zones\.machine/],
  [
    'a limit without a list',
    { [ZonesMaxUnavailable]: '1' },
    /unavailable\]: has no effect without the annotation zones\.machine/,
  ],
  ['a limit of 0', { [Zones]: LIST, [ZonesMaxUnavailable]: '0' }, /is "0"; write a number of at least 1/],
  ['a limit that is no number', { [Zones]: LIST, [ZonesMaxUnavailable]: 'one' }, /is "one"; write a number of/],
  [
    'warm machines',
    { [Zones]: LIST, [Annotations.WarmMachines]: '1' },
    /cannot be combined with annotation warm\.machine/,
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
