import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { sleep } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import type { World, WorldOptions } from './testing/world.ts';
import { annotate, inZone, startZoned, staying, zoneCounts, zoneOf } from './testing/zoned-world.ts';

const { ZonesEvacuated, ZonesStandby } = Annotations;

const start = (replicas: number, spec?: object, options?: WorldOptions) =>
  startZoned(startControlPlane, replicas, spec, options);

const evented = async (world: World, reason: string) =>
  (await world.events()).filter((event) => event.reason === reason).map(({ message }) => message);

describe('an evacuation', () => {
  test.each([
    ['with a surge', { maxSurge: 1, maxUnavailable: 0 }, 6, 7],
    ['without a surge', { maxSurge: 0, maxUnavailable: 1 }, 5, 6],
    ['with both', { maxSurge: 2, maxUnavailable: 2 }, 6, 8],
  ])('%s moves all machines, within the limits, and the zone returns', async (_what, rollingUpdate, least, most) => {
    const strategy = { type: 'RollingUpdate', rollingUpdate };
    await using world = await start(6, { strategy }, { birthMs: () => 5_000, deathMs: () => 5_000 });
    const kept = [...inZone(world, 'b'), ...inZone(world, 'c')].map(({ metadata }) => metadata.uid);
    const verify = async (): Promise<void> => {
      expect(world.available()).toBeGreaterThanOrEqual(least);
      expect((await world.machines()).length).toBeLessThanOrEqual(most + 2);
      expect(staying(world).length).toBeLessThanOrEqual(most);
    };
    const settled = (wanted: string) => async () => {
      await verify();
      return world.complete() && zoneCounts(world).join() === wanted;
    };
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.until(settled('0,3,3'), 600);
    await world.pass(120);
    expect(zoneCounts(world)).toEqual([0, 3, 3]);
    expect((await world.machines()).map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(kept));
    await annotate(world, { [ZonesEvacuated]: null });
    await world.until(settled('2,2,2'), 600);
    await world.pass(120);
    expect(zoneCounts(world)).toEqual([2, 2, 2]);
  });

  test('an evacuation of a zone whose machines are unreachable replaces them', async () => {
    await using world = await start(9, {}, { birthMs: () => 5_000 });
    for (const { metadata } of inZone(world, 'a')) await world.setPhase(metadata.name, 'Unknown');
    await world.pass(600);
    expect(zoneCounts(world)).toEqual([3, 3, 3]);
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(600);
    expect(zoneCounts(world).toSorted()).toEqual([0, 4, 5]);
    expect(world.complete()).toBe(true);
  });

  test('an evacuation keeps preserved machines and machines with a higher priority, and moves no other machine for them', async () => {
    await using world = await start(6);
    const [kept, moved] = inZone(world, 'a');
    await world.patchMachine(kept?.metadata.name ?? '', { metadata: { annotations: { [Annotations.Priority]: '5' } } });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(600);
    expect(zoneCounts(world).toSorted()).toEqual([1, 2, 3]);
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
    expect(staying(world).length).toBe(4);
    expect(world.available()).toBe(3);
    expect(inZone(world, 'a').length).toBe(1);
  });

  test.each([
    ['one machine', { maxSurge: 1, maxUnavailable: 0 }, 3],
    ['two machines', { maxSurge: 3, maxUnavailable: 0 }, 6],
  ])(
    '%s of the surge cannot join, and the zone returns: the set deletes the surge',
    async (_what, rollingUpdate, replicas) => {
      const strategy = { type: 'RollingUpdate', rollingUpdate };
      const birthMs: WorldOptions['birthMs'] = (_machine, index) => (index < replicas ? 100 : undefined);
      await using world = await start(replicas, { strategy }, { birthMs });
      const before = staying(world).map(({ metadata }) => metadata.uid);
      await annotate(world, { [ZonesEvacuated]: 'a' });
      await world.pass(120);
      expect(staying(world).length).toBe(replicas + replicas / 3);
      await annotate(world, { [ZonesEvacuated]: null });
      await world.pass(120);
      expect(staying(world).map(({ metadata }) => metadata.uid)).toEqual(before);
      expect(world.complete()).toBe(true);
    },
  );

  test('after a part of an evacuation, a surge machine that cannot join does not stop the return of the zone', async () => {
    let full = false;
    const birthMs: WorldOptions['birthMs'] = (machine) => (full && zoneOf(machine) !== 'a' ? undefined : 5_000);
    await using world = await start(6, {}, { birthMs, deathMs: () => 5_000 });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.until(() => inZone(world, 'a').length === 1, 120);
    full = true;
    await world.pass(120);
    expect(staying(world).length).toBe(7);
    await annotate(world, { [ZonesEvacuated]: null });
    await world.pass(300);
    expect([zoneCounts(world), world.complete()]).toEqual([[2, 2, 2], true]);
  });

  test('the return of a zone deletes no unreachable machine, even if the surge cannot join', async () => {
    const birthMs: WorldOptions['birthMs'] = (_machine, index) => (index < 3 ? 100 : undefined);
    await using world = await start(3, {}, { birthMs });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(120);
    const [lost] = inZone(world, 'c');
    await world.setPhase(lost?.metadata.name ?? '', 'Unknown');
    await annotate(world, { [ZonesEvacuated]: null });
    await world.pass(120);
    expect(staying(world).map(({ metadata }) => metadata.uid)).toContain(lost?.metadata.uid);
  });

  test('slow API requests do not stop a move: the set grows once and shrinks once for each machine', async () => {
    let slow = false;
    const fault: WorldOptions['fault'] = async (request, answer, clock) => {
      if (slow && request.method === 'POST' && request.url.endsWith('/machines')) await sleep(clock, 5_000);
      return answer();
    };
    await using world = await start(6, {}, { fault });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.until(() => world.complete() && zoneCounts(world).join() === '0,3,3', 600);
    slow = true;
    const writes = () => world.writes.get('PUT machinesets') ?? 0;
    const before = writes();
    await annotate(world, { [ZonesEvacuated]: null });
    await world.until(() => world.complete() && zoneCounts(world).join() === '2,2,2', 600);
    expect(writes() - before).toBe(4);
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
    expect(zoneCounts(world)).toEqual([0, 3, 3]);
  });
});

describe('an evacuation while a zone has no capacity', () => {
  const withFullZones = (full: ReadonlySet<string>): WorldOptions => ({
    birthMs: (machine) => (full.has(zoneOf(machine)) ? undefined : 5_000),
    deathMs: () => 5_000,
  });
  const refuse = async (world: World, full: ReadonlySet<string>, record: string | null = null): Promise<void> => {
    const lastOperation = { errorCode: 'ResourceExhausted', state: 'Failed', type: 'Create', description: 'no cores' };
    for (const machine of staying(world)) {
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
      expect(zoneCounts(world)).toEqual([0, 2, 4]);
      expect((await world.deployment()).metadata.annotations?.[Annotations.ZonesShort]).toMatch(/^b=2026-/);
      expect(await evented(world, 'ZoneShort')).toEqual([
        'The cloud has no capacity in zone b. mcm creates the replacement machines in other zones.',
      ]);
      full.clear();
      await world.pass(3600);
      expect(zoneCounts(world)).toEqual([0, 3, 3]);
      expect((await world.deployment()).metadata.annotations?.[Annotations.ZonesShort]).toBeUndefined();
    },
  );

  const waiting = async (world: World): Promise<readonly string[]> =>
    staying(world)
      .filter(({ status }) => status?.currentStatus?.phase === 'CrashLoopBackOff')
      .map(zoneOf);

  test('if no zone has capacity, one machine waits in the last zone, and mcm stops writing', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    for (const zone of ['b', 'c']) full.add(zone);
    await annotate(world, { [ZonesEvacuated]: 'a' });
    for (let waited = 0; waited < 60; waited++) {
      await world.pass(1);
      await refuse(world, full);
    }
    expect([zoneCounts(world), await waiting(world), world.available()]).toEqual([[2, 2, 3], ['c'], 6]);
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

  test('the set deletes a machine without a VM before it replaces a failed machine of the evacuated zone', async () => {
    const full = new Set<string>();
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } };
    await using world = await start(6, { strategy }, withFullZones(full));
    full.add('b');
    const [first, second] = inZone(world, 'a').map(({ metadata }) => metadata.name);
    for (const name of [first, second]) await world.setPhase(name ?? '', 'Unknown');
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.until(async () => inZone(world, 'a').length === 1 && inZone(world, 'b').length === 3, 60);
    const going: string[] = [];
    world.truth.onChange(({ object: { metadata } }) => {
      if (metadata.deletionTimestamp && !going.includes(metadata.name)) going.push(metadata.name);
    });
    const [failed] = inZone(world, 'a').map(({ metadata }) => metadata.name);
    const newest = inZone(world, 'b').filter(({ status }) => status?.currentStatus?.phase === undefined);
    await world.setPhase(failed ?? '', 'Failed');
    await refuse(world, full);
    await world.pass(300);
    expect(going).toEqual([newest[0]?.metadata.name, failed]);
    expect([zoneCounts(world), world.available()]).toEqual([[0, 2, 4], 6]);
  });

  test('while another machine has a lower priority, the set does not shrink because of a machine without a VM', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    full.add('b');
    const [next] = inZone(world, 'c');
    await world.patchMachine(next?.metadata.name ?? '', { metadata: { annotations: { [Annotations.Priority]: '1' } } });
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(5);
    await refuse(world, full);
    await world.pass(60);
    expect([zoneCounts(world), world.available()]).toEqual([[2, 3, 2], 6]);
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
    expect([zoneCounts(world), world.available()]).toEqual([[0, 2, 4], 6]);
  });

  test('a machine that tries another alternative of its zone stays', async () => {
    const full = new Set<string>();
    await using world = await start(6, {}, withFullZones(full));
    full.add('b');
    await annotate(world, { [ZonesEvacuated]: 'a' });
    await world.pass(5);
    await refuse(world, full, '{"zone":"b","machineType":"large"}');
    await world.pass(60);
    expect([zoneCounts(world), await waiting(world)]).toEqual([[2, 3, 2], ['b']]);
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
    for (const { metadata } of inZone(world, zone)) await world.setPhase(metadata.name, 'Unknown');
    await world.pass(5);
  };

  test('a zone without reachable machines is on standby until a machine is Ready again: new machines go to the other zones', async () => {
    await using world = await start(9, {}, { birthMs: () => 5_000 });
    await lose(world, 'b');
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toMatch(/^b=2026-/);
    await world.change({ spec: { replicas: 13 } });
    await world.pass(120);
    expect(zoneCounts(world)).toEqual([5, 3, 5]);
    for (const { metadata } of inZone(world, 'b')) await world.setPhase(metadata.name, 'Running');
    await world.pass(300);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toBeUndefined();
    expect(zoneCounts(world).toSorted()).toEqual([4, 4, 5]);
    expect(await evented(world, 'ZoneStandby')).toHaveLength(1);
    expect(await evented(world, 'ZoneReturned')).toHaveLength(1);
  });

  test('one unreachable machine of several does not put its zone on standby', async () => {
    await using world = await start(6);
    const [one] = inZone(world, 'b');
    await world.setPhase(one?.metadata.name ?? '', 'Unknown');
    await world.pass(60);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toBeUndefined();
  });

  test('a zone stays on standby after a restart while its failed machines are replaced, and is tried again later', async () => {
    await using world = await start(6, {}, { birthMs: () => 5_000 });
    await lose(world, 'b');
    for (const { metadata } of inZone(world, 'b')) await world.setPhase(metadata.name, 'Failed');
    await world.restart();
    await world.pass(300);
    expect(zoneCounts(world)).toEqual([3, 0, 3]);
    expect((await world.deployment()).metadata.annotations?.[ZonesStandby]).toMatch(/^b=2026-/);
    await world.pass(2400);
    expect(zoneCounts(world)).toEqual([2, 2, 2]);
  });
});
