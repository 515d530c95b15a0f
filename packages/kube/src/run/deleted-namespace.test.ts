import { startControlPlane } from '@mcm/control-plane';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ignoreNotFound } from '../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { namespaces, secrets } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { FLEET_FINALIZER, FleetRig, LEASE, type Replica } from './fleet-rig.testing.ts';

/**
 * After this time, another replica serves the cluster. The time is the sum of the lease duration, the longest delay
 * before an attempt, and a slow retry.
 */
const TAKEN_OVER_MS = 30_000;

let rig: FleetRig;
beforeEach(async () => {
  rig = await FleetRig.create(startControlPlane, ['c1', 'c2']);
});
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

const find = (definition: ResourceDefinition<KubeObject>, name: string): Promise<KubeObject | undefined> =>
  ignoreNotFound(rig.admin('seed').resource(definition, 'c1').get(name));

const namespace = (): Promise<KubeObject | undefined> =>
  ignoreNotFound(rig.admin('seed').resource(namespaces).get('c1'));

const finalizers = async (): Promise<readonly (readonly string[] | undefined)[]> =>
  [await find(leases, LEASE), await find(secrets, 'fleet-kubeconfig')].map((found) => found?.metadata.finalizers);

const deleteNamespace = async (): Promise<void> => {
  await rig.admin('seed').resource(namespaces).delete('c1');
  await rig.clock.advance(2_000);
};

const works = async (): Promise<boolean> => {
  const before = await rig.beats('c1');
  await rig.clock.advance(3_000);
  return (await rig.beats('c1')) !== before;
};

const stateOf = async (replica: Replica): Promise<string | undefined> =>
  (await replica.status()).find(({ cluster }) => cluster === 'c1')?.state;

test('the controllers work until no object of a deleted namespace needs them, also after restarts', async () => {
  await rig.addWork('c1');
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  await deleteNamespace();
  expect(await works()).toBe(true);
  expect((await find(leases, LEASE))?.metadata.deletionTimestamp).toBeDefined();
  a.kill();
  const b = await rig.replica('b');
  await rig.clock.advance(TAKEN_OVER_MS);
  expect(await rig.holder('c1')).toBe('b');
  await b.stop();
  const c = await rig.replica('c');
  await rig.clock.advance(TAKEN_OVER_MS);
  expect(await rig.holder('c1')).toBe('c');
  expect(await works()).toBe(true);
  await rig.endWork('c1');
  await rig.clock.advance(5_000);
  expect(await namespace()).toBeUndefined();
  expect((await c.status()).map(({ cluster }) => cluster)).toEqual(['c2']);
  expect(await c.scrape()).not.toContain('mcm_fleet_cluster_failures_total{cluster="c1"');
});

test('a namespace without work ends within seconds, and can be created again', async () => {
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  await deleteNamespace();
  await rig.clock.advance(3_000);
  expect(await namespace()).toBeUndefined();
  await rig.addCluster('c1');
  await rig.clock.advance(10_000);
  expect(await stateOf(a)).toBe('serving');
  expect(await finalizers()).toEqual([[FLEET_FINALIZER], [FLEET_FINALIZER]]);
});

test('a single process continues a deletion with the same Lease, and the fleet ends it', async () => {
  await rig.addWork('c1');
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  await deleteNamespace();
  a.kill();
  const s = await rig.single('s', 'c1');
  await rig.clock.advance(TAKEN_OVER_MS);
  expect(await rig.holder('c1')).toBe('s');
  const b = await rig.replica('b');
  await rig.clock.advance(TAKEN_OVER_MS);
  expect(await stateOf(b)).toBe('waiting');
  expect(await works()).toBe(true);
  await rig.endWork('c1');
  await s.stop();
  await rig.clock.advance(TAKEN_OVER_MS);
  expect(await namespace()).toBeUndefined();
});

test('without its Lease, no replica writes, and the status names the fix', async () => {
  await rig.addWork('c1');
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  await deleteNamespace();
  await a.stop();
  await rig
    .admin('seed')
    .resource(leases, 'c1')
    .patch(LEASE, { type: 'merge', body: { metadata: { finalizers: null } } });
  const b = await rig.replica('b');
  await rig.clock.advance(60_000);
  expect(await stateOf(b)).toBe('failed');
  expect(await works()).toBe(false);
  const [status] = (await b.status()).filter(({ cluster }) => cluster === 'c1');
  expect(status?.error).toContain(
    'Lease c1/demo was deleted with its namespace and cannot be created again; run a single process with --leader-elect=false',
  );
  expect(await b.scrape()).toMatch(/mcm_fleet_cluster_failures_total\{cluster="c1",reason="lease-deleted"\} [1-9]/);
  await rig.endWork('c1');
  await rig.clock.advance(400_000);
  expect(await namespace()).toBeUndefined();
});

test('a stopped replica keeps the finalizers, and a cluster outside of the fleet has none', async () => {
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  await a.stop();
  expect(await finalizers()).toEqual([[FLEET_FINALIZER], [FLEET_FINALIZER]]);
  await rig.replica('b');
  await rig.clock.advance(10_000);
  const body = { metadata: { labels: { fleet: null } } };
  await rig.admin('seed').resource(namespaces).patch('c1', { type: 'merge', body });
  await rig.clock.advance(10_000);
  expect(await rig.holder('c1')).toBe('');
  expect((await finalizers()).flatMap((names) => names ?? [])).toEqual([]);
});

test('a user can delete the Secret of a cluster and create it again', async () => {
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  const all = rig.admin('seed').resource(secrets, 'c1');
  await all.delete('fleet-kubeconfig');
  await rig.clock.advance(5_000);
  expect(await stateOf(a)).toBe('refused');
  await all.create({ metadata: { name: 'fleet-kubeconfig' }, stringData: { kubeconfig: rig.kubeconfig('c1') } });
  await rig.clock.advance(10_000);
  expect(await stateOf(a)).toBe('serving');
  expect(await finalizers()).toEqual([[FLEET_FINALIZER], [FLEET_FINALIZER]]);
});
