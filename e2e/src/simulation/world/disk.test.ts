import { startControlPlane } from '@mcm/control-plane';
import { configMaps, createClient, seededRandom, VirtualClock } from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { Disk } from './disk.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function stored() {
  const disk = new Disk(seededRandom(1));
  ends.push(() => disk.remove());
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: [], store: { dir: disk.plane } });
  ends.push(() => plane.close());
  const maps = createClient({ transport: plane.transport, userAgent: 'test', clock }).resource(configMaps, 'default');
  for (let count = 0; count < 20; count += 1)
    await maps.create({ metadata: { name: `m${count}`, namespace: 'default' } });
  await clock.settle();
  return { disk, plane };
}

test('a crash with an incomplete write loses nothing that the control plane acknowledged', async () => {
  const { disk, plane } = await stored();
  for (let crash = 0; crash < 10; crash += 1) expect(disk.planeLosses(plane.snapshot())).toEqual([]);
});

test('an object that is not in the files, or has another content, is reported', async () => {
  const { disk, plane } = await stored();
  const { revision, objects } = plane.snapshot();
  const changed = objects.flatMap(({ resource, record }) => {
    if (record.name === 'm1') return [{ resource, record: { ...record, json: '{}' } }];
    const also = record.name === 'm2' ? [{ resource, record: { ...record, name: 'new' } }] : [];
    return record.name === 'm3' ? [] : [{ resource, record }, ...also];
  });
  expect(disk.planeLosses({ revision, objects: changed }).toSorted()).toEqual([
    expect.stringMatching(/default\/m1 would be wrong$/),
    expect.stringMatching(/default\/m3 would be wrong$/),
    expect.stringMatching(/default\/new would be lost$/),
  ]);
});

test('the store of the local cloud has all writes after a crash', () => {
  const disk = new Disk(seededRandom(2));
  ends.push(() => disk.remove());
  for (let crash = 0; crash < 10; crash += 1) {
    const store = disk.openCloud();
    store.put('vm', `i-${crash}`, { crash });
    expect([...store.load()].map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: crash + 1 }, (_, index) => `i-${index}`).toSorted(),
    );
    disk.crashCloud();
    store.close();
  }
});
