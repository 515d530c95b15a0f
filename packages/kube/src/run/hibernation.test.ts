import { startControlPlane } from '@mcm/control-plane';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ignoreNotFound } from '../contract/errors.ts';
import { namespaces, secrets } from '../types/core.ts';
import { BUSY, FleetRig, LEASE } from './fleet-rig.testing.ts';

const HIBERNATE = '--fleet-hibernate-after=1m';
const ASLEEP_MS = 150_000;

let rig: FleetRig;
beforeEach(async () => {
  rig = await FleetRig.create(startControlPlane, ['c1', 'c2']);
  await addSecret('c2', BUSY);
});
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

const addSecret = (cluster: string, name: string) =>
  rig.admin('seed').resource(secrets, cluster).create({ metadata: { name } });
const requests = (): readonly string[] =>
  rig.arrived
    .filter(({ server, path }) => server === 'c1' || path.includes('/namespaces/c1/'))
    .filter(({ path }) => !path.includes('watch='))
    .map(({ method, server, path }) => `${method} ${server} ${path}`);

test('a cluster without work has no connection and no Lease, and a change in the seed wakes it at once', async () => {
  const a = await rig.replica('a', [HIBERNATE]);
  await rig.clock.advance(ASLEEP_MS);
  expect(await a.states()).toEqual(['c1 hibernated', 'c2 serving']);
  const lease = await rig.lease('c1');
  expect([lease.spec?.holderIdentity, lease.metadata.annotations?.['fleet-hibernated']]).toEqual(['', '0']);
  expect(await a.scrape()).toContain('mcm_fleet_clusters{state="hibernated"} 1\n');
  const beats = await rig.beats('c1');
  await rig.clock.advance(60_000);
  rig.arrived.length = 0;
  await rig.clock.advance(300_000);
  expect(requests()).toEqual([]);
  expect(await rig.beats('c1')).toBe(beats);
  await addSecret('c1', 'any');
  await rig.clock.advance(1_500);
  expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
  expect(await rig.holder('c1')).toBe('a');
  await rig.clock.advance(ASLEEP_MS);
  expect(await a.states()).toEqual(['c1 hibernated', 'c2 serving']);
});

test('without the flag, a cluster without work keeps its connection', async () => {
  const a = await rig.replica('a');
  await rig.clock.advance(ASLEEP_MS);
  expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
});

test('another process can hold the Lease of a hibernated cluster, and the replica waits for the Lease', async () => {
  const a = await rig.replica('a', [HIBERNATE]);
  await rig.clock.advance(ASLEEP_MS);
  const single = await rig.single('single', 'c1');
  await rig.clock.advance(10_000);
  expect(await rig.holder('c1')).toBe('single');
  await addSecret('c1', 'any');
  await rig.clock.advance(10_000);
  expect((await a.states())[0]).toBe('c1 waiting');
  await single.stop();
  await rig.clock.advance(10_000);
  expect(await rig.holder('c1')).toBe('a');
});

test('after the end of its replica, another replica serves and hibernates the cluster', async () => {
  const a = await rig.replica('a', [HIBERNATE]);
  await rig.clock.advance(ASLEEP_MS);
  const b = await rig.replica('b', [HIBERNATE]);
  await a.stop();
  await rig.clock.advance(10_000);
  expect(await b.states()).toEqual(['c1 serving', 'c2 serving']);
  await rig.clock.advance(ASLEEP_MS);
  expect(await b.states()).toEqual(['c1 hibernated', 'c2 serving']);
});

test('the deletion of its namespace, and a new kubeconfig, wake a hibernated cluster', async () => {
  const a = await rig.replica('a', [HIBERNATE]);
  await rig.clock.advance(ASLEEP_MS);
  await rig.addPlane('c1b');
  await rig.changeKubeconfig('c1', rig.kubeconfig('c1', 'another-token'));
  await rig.clock.advance(5_000);
  expect((await a.states())[0]).toBe('c1 serving');
  await rig.clock.advance(ASLEEP_MS);
  expect((await a.states())[0]).toBe('c1 hibernated');
  expect((await rig.lease('c1')).metadata.name).toBe(LEASE);
  const seed = rig.admin('seed');
  await seed.resource(namespaces).delete('c1');
  await rig.clock.advance(30_000);
  expect(await ignoreNotFound(seed.resource(namespaces).get('c1'))).toBeUndefined();
});

test.each([
  ['without its label', { labels: { fleet: null } }],
  ['with its own process', { annotations: { 'mcm-fleet-handed-over': 'by an operator' } }],
])(
  'a hibernated cluster %s leaves the fleet without finalizers, so its namespace can be deleted',
  async (_, metadata) => {
    const a = await rig.replica('a', [HIBERNATE]);
    await rig.clock.advance(ASLEEP_MS);
    expect((await rig.lease('c1')).metadata.finalizers).toHaveLength(1);
    const seed = rig.admin('seed');
    await seed.resource(namespaces).patch('c1', { type: 'merge', body: { metadata } });
    await rig.clock.advance(5_000);
    expect((await rig.lease('c1')).metadata.finalizers ?? []).toEqual([]);
    await a.stop();
    await seed.resource(namespaces).delete('c1');
    await rig.clock.advance(30_000);
    expect(await ignoreNotFound(seed.resource(namespaces).get('c1'))).toBeUndefined();
  },
);

test('hibernation needs namespaces of a seed', async () => {
  const folder = `${rig.folder}/kubeconfigs`;
  await rig.writeFolder(folder, { one: 'c1' });
  await expect(rig.replicaOfFolder('a', folder, [HIBERNATE])).rejects.toThrow(
    /--fleet-hibernate-after needs --fleet-namespaces/,
  );
});
