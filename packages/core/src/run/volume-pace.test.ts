import {
  type ConfigMap,
  configMaps,
  ignoreNotFound,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { VolumePace } from '../drain/volumes/volume-pace.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const DRIVER = 'local.csi';
const MINUTE = 60_000;

async function addVolume(rig: Rig, name: string, nodeName: string): Promise<void> {
  const { admin } = rig;
  const csi = { driver: DRIVER, volumeHandle: name };
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi };
  await admin.resource(persistentVolumes).create({ metadata: { name: `pv-${name}` }, spec });
  await admin.resource(persistentVolumeClaims, NAMESPACE).create({
    metadata: { name, namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: `pv-${name}` },
  });
  const attachment = { attacher: DRIVER, nodeName, source: { persistentVolumeName: `pv-${name}` } };
  await admin.resource(volumeAttachments).create({ metadata: { name: `va-${name}` }, spec: attachment });
  await rig.createPod(name, nodeName, {}, [{ name: 'data', persistentVolumeClaim: { claimName: name } }]);
}

async function drains(count: number, volumeLimit: number, before?: (rig: Rig) => Promise<void>): Promise<Rig> {
  const { rig } = await createRig({ controller: { volumeWindow: 5, volumeLimit } });
  await before?.(rig);
  await rig.createClass();
  rig.start();
  const names = Array.from({ length: count }, (_, i) => `m-${i}`);
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  for (const name of names) for (const pod of ['a', 'b']) await addVolume(rig, `${pod}-${name}`, name);
  await rig.clock.advance(1_000);
  for (const name of names) await rig.deleteMachine(name);
  await rig.clock.advance(5_000);
  return rig;
}

const leaving = async (rig: Rig): Promise<readonly string[]> =>
  (await rig.admin.resource(pods, NAMESPACE).list()).items
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name)
    .toSorted();

async function moved(rig: Rig, name: string, ms = 1_000): Promise<void> {
  await rig.admin.resource(pods, NAMESPACE).delete(name, { gracePeriodSeconds: 0 });
  await rig.clock.advance(ms);
  await rig.admin.resource(volumeAttachments).delete(`va-${name}`);
  await rig.clock.advance(2_000);
}

const stored = async (rig: Rig) =>
  (await ignoreNotFound(rig.admin.resource<ConfigMap>(configMaps, NAMESPACE).get('machine-volume-limits')))?.data;

test('without the flag, each drain moves its first volume at once', async () => {
  const rig = await drains(3, 0);
  expect(await leaving(rig)).toEqual(['a-m-0', 'a-m-1', 'a-m-2']);
});

test('without the flag, the stored limits of an earlier controller have no effect, and stay', async () => {
  const data = { [DRIVER]: '1' };
  const rig = await drains(3, 0, async ({ admin }) => {
    await admin
      .resource<ConfigMap>(configMaps, NAMESPACE)
      .create({ metadata: { name: 'machine-volume-limits' }, data });
  });
  expect(await leaving(rig)).toEqual(['a-m-0', 'a-m-1', 'a-m-2']);
  await rig.clock.advance(5 * MINUTE);
  expect(await stored(rig)).toEqual(data);
});

test('a process stores only the limits that it has learned, so another process keeps its CSI driver', async () => {
  const rig = await drains(2, 4);
  const client = rig.admin.resource<ConfigMap>(configMaps, NAMESPACE);
  await moved(rig, (await leaving(rig))[0] ?? '');
  await client.create({ metadata: { name: 'machine-volume-limits' }, data: { [DRIVER]: '1', 'other.csi': '7' } });
  await rig.clock.advance(2 * MINUTE);
  const now = (await stored(rig)) ?? {};
  expect(now['other.csi']).toBe('7');
  expect(Number(now[DRIVER])).toBeGreaterThan(1);
});

test('all drains share the limit of a CSI driver, and continue when a volume has moved', async () => {
  const rig = await drains(3, 1);
  const seen: string[] = [];
  for (let round = 0; round < 6; round++) {
    const now = await leaving(rig);
    expect(now).toHaveLength(1);
    seen.push(...now);
    await moved(rig, now[0] ?? '');
  }
  expect(seen.toSorted()).toEqual(['a-m-0', 'a-m-1', 'a-m-2', 'b-m-0', 'b-m-1', 'b-m-2']);
  await rig.until(async () => (await rig.machines()).length === 0, 10 * MINUTE);
});

test('the status of a machine names the CSI driver whose limit delays its pods', async () => {
  const rig = await drains(2, 1);
  await rig.clock.advance(MINUTE);
  const texts = (await rig.machines()).map((m) => m.status?.lastOperation?.description ?? '');
  expect(texts.filter((text) => text.includes(`limit of CSI driver ${DRIVER}`))).toHaveLength(1);
});

test('a volume that does not detach delays the other drains only until its timeout', async () => {
  const rig = await drains(2, 1);
  const [first = ''] = await leaving(rig);
  await rig.admin.resource(pods, NAMESPACE).delete(first, { gracePeriodSeconds: 0 });
  await rig.until(async () => (await leaving(rig)).length > 0, 3 * MINUTE);
});

test('the limit is learned, stored and kept over a restart', async () => {
  const rig = await drains(4, 3, async ({ admin }) => {
    await admin.resource<ConfigMap>(configMaps, NAMESPACE).create({
      metadata: { name: 'machine-volume-limits' },
      data: { [DRIVER]: '1' },
    });
  });
  const [first = ''] = await leaving(rig);
  expect(await leaving(rig)).toHaveLength(1);
  await moved(rig, first);
  expect(await leaving(rig)).toHaveLength(2);
  await rig.clock.advance(2 * MINUTE);
  expect(await stored(rig)).toEqual({ [DRIVER]: '2' });
});

test('a slow detach halves the limit once, although several volumes are slow', async () => {
  const rig = await drains(4, 4);
  const names = await leaving(rig);
  expect(names).toHaveLength(4);
  for (const name of names) await rig.admin.resource(pods, NAMESPACE).delete(name, { gracePeriodSeconds: 0 });
  await rig.clock.advance(121_000);
  await rig.clock.advance(2 * MINUTE);
  expect(await stored(rig)).toEqual({ [DRIVER]: '2' });
});

test('until the stored limits are known, one volume moves, and the drains then continue', () => {
  const woken: string[] = [];
  const pace = new VolumePace({ most: 8, first: 5, wake: (key) => woken.push(key) });
  pace.moves('uid-a', new Map([[DRIVER, 1]]));
  pace.waits('b', [DRIVER]);
  expect(pace.limitOf(DRIVER)).toBe(1);
  expect(woken).toEqual([]);
  pace.load(new Map([['other.csi', 99]]));
  expect([pace.limitOf(DRIVER), pace.limitOf('other.csi')]).toEqual([5, 8]);
  expect(woken).toEqual(['b']);
});
