import { startControlPlane } from '@mcm/control-plane';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configMaps, events, namespaces, secrets } from '../types/core.ts';
import { FleetRig, LEASE, type Replica } from './fleet-rig.testing.ts';

const LARGE = 'cached-large';
const SMALL = 'cached-small';
const LIMIT = '--fleet-cache-limit=1';
const MARK = 'mcm-fleet-handed-over';
const CONFIRMED_MS = 40_000;

let rig: FleetRig;
beforeEach(async () => {
  rig = await FleetRig.create(startControlPlane, [LARGE, SMALL]);
});
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

async function fill(cluster: string, full: boolean): Promise<void> {
  const resource = rig.admin('seed').resource(configMaps, cluster);
  for (let index = 0; index < 4; index++) {
    if (full) await resource.create({ metadata: { name: `large-${index}` }, data: { text: 'x'.repeat(300_000) } });
    else await resource.delete(`large-${index}`);
  }
}

const annotate = (annotations: Readonly<Record<string, string | null>>) =>
  rig
    .admin('seed')
    .resource(namespaces)
    .patch(LARGE, { type: 'merge', body: { metadata: { annotations } } });
const markOf = async (): Promise<string | undefined> =>
  (await rig.admin('seed').resource(namespaces).get(LARGE)).metadata.annotations?.[MARK];
const holders = () => rig.holders([LARGE, SMALL]);
const eventTexts = async (): Promise<readonly string[]> =>
  (await rig.admin('seed').resource(events, LARGE).list()).items.map(({ reason, message }) => `${reason}: ${message}`);
const largeOf = async (replica: Replica) => (await replica.status()).find(({ cluster }) => cluster === LARGE);

test('a cluster above the limit gets a mark, an event, and a free Lease, and no replica serves it', async () => {
  const a = await rig.replica('a', [LIMIT]);
  await fill(LARGE, true);
  await rig.clock.advance(CONFIRMED_MS);
  const reason = 'the caches of demo have about 2 MiB, and the limit is 1 MiB (--fleet-cache-limit)';
  expect(await markOf()).toBe(reason);
  expect(await holders()).toEqual(['', 'a']);
  expect(await largeOf(a)).toMatchObject({ state: 'handed-over', error: reason });
  expect(await eventTexts()).toEqual([
    `FleetClusterHandedOver: The fleet releases the cluster, because ${reason}. Run the machine-controller-manager and the machine controller of this cluster in their own pod`,
  ]);
  const text = await a.scrape();
  expect(text).toContain('mcm_fleet_clusters{state="handed-over"} 1\n');
  expect(text).toMatch(/mcm_fleet_cache_bytes\{cluster="cached-small"\} \d+/);
  // The Lease and the Secret lose their finalizer, because a process without fleet mode does not remove it.
  expect((await rig.lease(LARGE)).metadata.finalizers).toBeUndefined();
  const secret = await rig.admin('seed').resource(secrets, LARGE).get('fleet-kubeconfig');
  expect(secret.metadata.finalizers).toBeUndefined();
  const b = await rig.replica('b');
  await a.stop();
  await rig.clock.advance(60_000);
  expect(await holders()).toEqual(['', 'b']);
  const single = await rig.single('single', LARGE);
  await rig.clock.advance(5_000);
  expect(await holders()).toEqual(['single', 'b']);
  await single.stop();
  await fill(LARGE, false);
  await annotate({ [MARK]: null });
  await rig.clock.advance(10_000);
  expect(await holders()).toEqual(['b', 'b']);
  expect(await largeOf(b)).toMatchObject({ state: 'serving', error: '' });
});

test('a short excess, and a cluster without a limit, stay in the fleet', async () => {
  const a = await rig.replica('a', [LIMIT]);
  await rig.clock.advance(5_000);
  await fill(LARGE, true);
  await rig.clock.advance(10_000);
  await fill(LARGE, false);
  await rig.clock.advance(CONFIRMED_MS);
  expect([await markOf(), await holders()]).toEqual([undefined, ['a', 'a']]);
  await a.stop();
  await rig.replica('b');
  await fill(LARGE, true);
  await rig.clock.advance(CONFIRMED_MS);
  expect([await markOf(), await holders()]).toEqual([undefined, ['b', 'b']]);
});

test('without the mark, the replica keeps the cluster, reports the error, and tries again', async () => {
  rig.refuse = ({ method, path }) => method === 'PATCH' && path === `/api/v1/namespaces/${LARGE}`;
  const a = await rig.replica('a', [LIMIT]);
  await fill(LARGE, true);
  await rig.clock.advance(CONFIRMED_MS);
  expect([await markOf(), await holders()]).toEqual([undefined, ['a', 'a']]);
  expect((await eventTexts())[0]).toMatch(/^FleetHandOverFailed: The fleet cannot release the cluster although .*: /);
  rig.refuse = () => false;
  await rig.clock.advance(300_000 + CONFIRMED_MS);
  expect(await holders()).toEqual(['', 'a']);
  expect((await largeOf(a))?.state).toBe('handed-over');
});

test('after the reset of the mark by hand, a cluster with an own process returns to the fleet at once', async () => {
  await annotate({ [MARK]: 'by an operator' });
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  expect(await holders()).toEqual(['', 'a']);
  expect(await largeOf(a)).toMatchObject({ state: 'handed-over', error: 'by an operator' });
  await annotate({ [MARK]: null });
  await rig.clock.advance(5_000);
  expect(await holders()).toEqual(['a', 'a']);
});

test('the fleet deletes the machines of a marked namespace that is being deleted', async () => {
  await rig.addWork(LARGE);
  await annotate({ [MARK]: 'by an operator' });
  const seed = rig.admin('seed');
  // The Lease of the process without fleet mode has a finalizer from an earlier fleet.
  await rig.replica('a');
  await rig.clock.advance(10_000);
  await annotate({ [MARK]: null });
  await rig.clock.advance(10_000);
  await seed.resource(namespaces).delete(LARGE);
  await annotate({ [MARK]: 'by an operator' });
  await rig.clock.advance(10_000);
  expect(await rig.holder(LARGE)).toBe('a');
  expect((await rig.lease(LARGE)).metadata.name).toBe(LEASE);
  await rig.endWork(LARGE);
  await rig.clock.advance(20_000);
  await expect(seed.resource(namespaces).get(LARGE)).rejects.toThrow('not found');
});

test('the limit needs namespaces of a seed', async () => {
  const folder = `${rig.folder}/kubeconfigs`;
  await rig.writeFolder(folder, { one: SMALL });
  await expect(rig.replicaOfFolder('a', folder, [LIMIT])).rejects.toThrow(
    /--fleet-cache-limit needs --fleet-namespaces/,
  );
});
