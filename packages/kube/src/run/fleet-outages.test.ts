import { join } from 'node:path';
import { startControlPlane } from '@mcm/control-plane';
import { afterEach, expect, test } from 'vitest';
import { assigned } from '../fleet/peers/assignment.ts';
import { BEAT_MS, FleetRig, type Replica } from './fleet-rig.testing.ts';

const CLUSTERS = ['c1', 'c2', 'c3', 'c4'];

let rig: FleetRig;
const setUp = async (
  clusters: readonly string[] = CLUSTERS,
  regions: Readonly<Record<string, string>> = {},
): Promise<void> => {
  rig = await FleetRig.create(startControlPlane, clusters, regions);
};
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

const PAIR = ['a', 'b'].map((name) => ({ name, weight: 100 }));
const statusOf = async (replica: Replica, cluster: string) =>
  (await replica.status()).find((one) => one.cluster === cluster);
const pair = async (start: (name: string) => Promise<Replica>) => {
  const replicas = [await start('a'), await start('b')];
  await rig.clock.advance(30_000);
  const all = await Promise.all(replicas.map(async (replica) => (await replica.status())[0]?.state));
  const owner = replicas[all.indexOf('serving')];
  const other = replicas[1 - all.indexOf('serving')];
  if (owner === undefined || other === undefined) throw new Error(`no replica serves the cluster: ${all.join()}`);
  return { owner, other };
};

test.each(['hangs', 'is refused'] as const)(
  'a replica whose connection %s releases the cluster, and takes it again when the connection works',
  async (how) => {
    await setUp(['c1']);
    const { owner, other } = await pair((name) => rig.replica(name));
    rig.cut(owner.name, 'c1', how);
    await rig.clock.advance(90_000);
    expect(await rig.holder('c1')).toBe(other.name);
    const before = await rig.beats('c1');
    await rig.clock.advance(10_000);
    expect(await rig.beats('c1')).toBe((before ?? 0) + 10_000 / BEAT_MS);
    const status = await statusOf(owner, 'c1');
    expect(status).toMatchObject({ state: 'elsewhere', assigned: other.name });
    expect(status?.error).toContain('the API server of the cluster does not answer');
    rig.heal('c1');
    await rig.clock.advance(60_000);
    expect(await rig.holder('c1')).toBe(owner.name);
  },
);

test('a replica whose connection leads to another cluster after the outage does not take the cluster again', async () => {
  await setUp(['c1']);
  await rig.addPlane('stranger');
  const { owner, other } = await pair((name) => rig.replica(name));
  rig.cut(owner.name, 'c1', 'is refused');
  await rig.clock.advance(90_000);
  expect(await rig.holder('c1')).toBe(other.name);
  rig.redirect(owner.name, 'c1', 'stranger');
  const before = (await rig.beats('c1')) ?? 0;
  await rig.clock.advance(120_000);
  expect(await rig.holder('c1')).toBe(other.name);
  expect(await rig.beats('c1')).toBe(before + 120_000 / BEAT_MS);
  expect(await rig.beats('stranger')).toBeUndefined();
  rig.heal('c1');
  await rig.clock.advance(60_000);
  expect(await rig.holder('c1')).toBe(owner.name);
});

test('a short outage at the start of a replica moves no cluster', async () => {
  await setUp(['c1']);
  const [owner, other] = assigned('c1', PAIR) === 'a' ? ['a', 'b'] : ['b', 'a'];
  rig.cut(owner, 'c1', 'is refused');
  await rig.replica(owner);
  await rig.replica(other);
  await rig.clock.advance(3_000);
  rig.heal('c1');
  await rig.clock.advance(60_000);
  expect(await rig.holder('c1')).toBe(owner);
  expect((await rig.lease('c1')).spec?.leaseTransitions).toBe(0);
});

test('a replica ends a cluster of a folder too, although the replica cannot release the Lease', async () => {
  await setUp(['c1']);
  const folder = join(rig.folder, 'kubeconfigs');
  await rig.writeFolder(folder, { one: 'c1' });
  const { owner, other } = await pair((name) => rig.replicaOfFolder(name, folder));
  rig.cut(owner.name, 'c1', 'hangs');
  await rig.clock.advance(60_000);
  expect((await statusOf(other, 'one'))?.state).toBe('serving');
  const before = await rig.beats('c1');
  await rig.clock.advance(10_000);
  expect(await rig.beats('c1')).toBe((before ?? 0) + 10_000 / BEAT_MS);
  rig.heal('c1');
  await rig.clock.advance(90_000);
  expect((await statusOf(owner, 'one'))?.state).toBe('serving');
});

test('a replica keeps a cluster that no other replica reaches, and the cluster is served soon after the outage', async () => {
  await setUp(['c1', 'c2']);
  const { owner } = await pair((name) => rig.replica(name));
  rig.hang('c1');
  await rig.clock.advance(600_000);
  const transitions = async () => (await rig.lease('c1')).spec?.leaseTransitions;
  const before = await transitions();
  const from = rig.arrived.length;
  await rig.clock.advance(600_000);
  expect(await transitions()).toBe(before);
  expect(rig.arrived.slice(from).filter(({ server }) => server === 'c1').length).toBeLessThan(50);
  rig.heal('c1');
  await rig.clock.advance(60_000);
  expect(await rig.holder('c1')).toBe(owner.name);
  const beats = await rig.beats('c1');
  await rig.clock.advance(10_000);
  expect(await rig.beats('c1')).toBe((beats ?? 0) + 10_000 / BEAT_MS);
});

test('a replica tries again soon after a long outage of an API server', async () => {
  await setUp(['c1']);
  rig.hang('c1');
  const a = await rig.replica('a');
  await rig.clock.advance(1_800_000);
  expect(await a.states()).toEqual(['c1 failed']);
  rig.heal('c1');
  await rig.clock.advance(50_000);
  expect(await a.states()).toEqual(['c1 serving']);
});

test('replicas count the clusters of each region whose API server does not answer', async () => {
  await setUp(['c1', 'c2', 'c3', 'c4'], { c1: 'north', c2: 'north', c3: 'north' });
  const replicas = [await rig.replica('a'), await rig.replica('b')];
  await rig.clock.advance(30_000);
  const counts = (north: number) => [
    { region: '', unreachable: 0, clusters: 1 },
    { region: 'north', unreachable: north, clusters: 3 },
  ];
  const regions = () => Promise.all(replicas.map((replica) => replica.regions()));
  expect(await regions()).toEqual([counts(0), counts(0)]);
  rig.hang('c1');
  rig.hang('c2');
  await rig.clock.advance(240_000);
  expect(await regions()).toEqual([counts(2), counts(2)]);
  rig.heal('c1');
  rig.heal('c2');
  await rig.clock.advance(120_000);
  expect(await regions()).toEqual([counts(0), counts(0)]);
});

test('the only replica counts a served cluster whose API server does not answer', async () => {
  await setUp(['c1', 'c2']);
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  rig.hang('c1');
  await rig.clock.advance(60_000);
  expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
  expect(await a.regions()).toEqual([{ region: '', unreachable: 1, clusters: 2 }]);
  rig.heal('c1');
  await rig.clock.advance(30_000);
  expect(await a.regions()).toEqual([{ region: '', unreachable: 0, clusters: 2 }]);
});

test('the only replica does not stop a cluster whose API server does not answer', async () => {
  await setUp(['c1']);
  const a = await rig.replica('a');
  await rig.clock.advance(10_000);
  rig.hang('c1');
  await rig.clock.advance(300_000);
  expect(await a.states()).toEqual(['c1 serving']);
});

test('an API server that does not answer takes a slot of all clusters for at most 5 s', async () => {
  await setUp();
  const a = await rig.replica('a', ['--fleet-total-requests=1', '--fleet-requests=1']);
  await rig.clock.advance(10_000);
  rig.hang('c1');
  const others = CLUSTERS.slice(1);
  const beats = () => Promise.all(others.map(async (cluster) => (await rig.beats(cluster)) ?? 0));
  await rig.clock.advance(6_000);
  const before = await beats();
  await rig.clock.advance(20_000);
  const written = (await beats()).map((count, index) => count - (before[index] ?? 0));
  expect(written.every((count) => count >= 18_000 / BEAT_MS)).toBe(true);
  expect(await a.states()).toContain('c2 serving');
});
