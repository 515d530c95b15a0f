import { rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@mcm/control-plane';
import { afterEach, describe, expect, test } from 'vitest';
import { holderSettings } from '../election/record.ts';
import { events, namespaces, secrets } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { BEAT_MS, FleetRig, LEASE, type Replica } from './fleet-rig.testing.ts';

const CLUSTERS = ['c1', 'c2', 'c3', 'c4'];
const LEASE_AND_MORE_MS = 20_000;

let rig: FleetRig;
const setUp = async (clusters: readonly string[] = CLUSTERS): Promise<void> => {
  rig = await FleetRig.create(startControlPlane, clusters);
};
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

const errorOf = async (replica: Replica, cluster: string): Promise<string> =>
  (await replica.status()).find((one) => one.cluster === cluster)?.error ?? '';

test('one process serves all clusters, each with its own Lease and label', async () => {
  await setUp();
  const a = await rig.replica('a', ['--fleet-metrics-clusters=2']);
  await rig.clock.advance(30_000);
  expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'a'));
  for (const cluster of CLUSTERS) expect(await rig.beats(cluster)).toBeGreaterThan(20_000 / BEAT_MS);
  expect(await a.states()).toEqual(CLUSTERS.map((cluster) => `${cluster} serving`));
  const text = await a.scrape();
  expect(new Set([...text.matchAll(/rest_client_requests_total\{cluster="([^"]+)"/g)].map(([, name]) => name))).toEqual(
    new Set(['c1', 'c2', 'other']),
  );
  expect(text).toContain('\nmcm_fleet_clusters{state="serving"} 4\n');
  expect(text.match(/^# TYPE rest_client_requests_total /gm)).toHaveLength(1);
});

test('no request contains the credentials of another cluster', async () => {
  await setUp();
  await rig.replica('a');
  await rig.replica('b');
  await rig.clock.advance(30_000);
  const servers = new Set(rig.arrived.map(({ server }) => server));
  expect(servers).toEqual(new Set(['seed', ...CLUSTERS]));
  const wrong = rig.arrived.filter(({ server, authorization }) => authorization !== `Bearer token-of-${server}`);
  expect(wrong).toEqual([]);
});

describe('a cluster without a usable kubeconfig', () => {
  test.each([
    ['is not YAML', '{', /is not YAML/],
    ['reads a file', 'tokenFile', /user\.tokenFile is not allowed here; use token/],
    ['starts a program', 'exec', /user\.exec is not allowed here; use token/],
  ])('a kubeconfig that %s stops only this cluster, with an event and a metric', async (_what, change, says) => {
    await setUp();
    const wrong = change === '{' ? '{' : rig.kubeconfig('c2').replace('"token"', JSON.stringify(change));
    await rig.changeKubeconfig('c2', wrong);
    const a = await rig.replica('a');
    await rig.clock.advance(30_000);
    expect(await a.states()).toEqual(CLUSTERS.map((one) => `${one} ${one === 'c2' ? 'failed' : 'serving'}`));
    expect(await errorOf(a, 'c2')).toMatch(says);
    const recorded = (await rig.admin('seed').resource(events, 'c2').list()).items;
    expect(recorded.map(({ reason, involvedObject }) => `${reason} ${involvedObject?.kind}`)).toContain(
      'FleetClusterStopped Secret',
    );
    expect(await a.scrape()).toMatch(/mcm_fleet_cluster_failures_total\{cluster="c2",reason="kubeconfig"\} [1-9]/);
    await rig.changeKubeconfig('c2', rig.kubeconfig('c2'));
    await rig.clock.advance(10_000);
    expect(await a.states()).toContain('c2 serving');
  });

  test('a cluster is refused if its Secret is absent, and served when the Secret exists', async () => {
    await setUp(['c1']);
    await rig.addPlane('c9');
    const seed = rig.admin('seed');
    await seed.resource(namespaces).create({ metadata: { name: 'c9', labels: { fleet: 'yes' } } });
    const a = await rig.replica('a');
    await rig.clock.advance(10_000);
    expect(await a.states()).toEqual(['c1 serving', 'c9 refused']);
    expect(await errorOf(a, 'c9')).toContain('Secret c9/fleet-kubeconfig does not exist; create the Secret');
    const stringData = { kubeconfig: rig.kubeconfig('c9') };
    await seed.resource(secrets, 'c9').create({ metadata: { name: 'fleet-kubeconfig' }, stringData });
    await rig.clock.advance(10_000);
    expect(await a.states()).toEqual(['c1 serving', 'c9 serving']);
  });
});

test('a replica records the name of the kubeconfig Secrets in its peer Lease, if the name is not the default', async () => {
  await setUp(['c1']);
  const seed = rig.admin('seed');
  const recorded = async (replica: string) => {
    const { items } = await seed.resource(leases, 'default').list();
    const lease = items.find(({ metadata }) => metadata.name.endsWith(`-fleet-${replica}`));
    return lease && holderSettings(lease);
  };
  const stringData = { kubeconfig: rig.kubeconfig('c1') };
  await seed.resource(secrets, 'c1').create({ metadata: { name: 'own' }, stringData });
  const a = await rig.replica('a');
  const b = await rig.replica('b', ['--fleet-secret=own', '--fleet-weight=200']);
  await rig.clock.advance(20_000);
  expect([...(await a.states()), ...(await b.states())]).toContain('c1 serving');
  expect(await recorded('a')).toEqual({ 'fleet-namespaces': 'fleet=yes', 'fleet-weight': 100 });
  expect(await recorded('b')).toEqual({
    'fleet-namespaces': 'fleet=yes',
    'fleet-secret': 'own',
    'fleet-weight': 200,
  });
});

describe('a kubeconfig that leads to another cluster', () => {
  test('a kubeconfig of another cluster stops only this cluster, and nothing is written to the other cluster', async () => {
    await setUp();
    await rig.addPlane('stranger');
    const a = await rig.replica('a');
    await rig.clock.advance(10_000);
    await rig.changeKubeconfig('c3', rig.kubeconfig('stranger'));
    await rig.clock.advance(60_000);
    expect(await a.states()).toEqual(CLUSTERS.map((one) => `${one} ${one === 'c3' ? 'failed' : 'serving'}`));
    expect(await errorOf(a, 'c3')).toMatch(/^Secret c3\/fleet-kubeconfig refers to another cluster: .* previously /);
    expect(await rig.holder('c3')).toBe('');
    expect(await rig.beats('stranger')).toBeUndefined();
    expect(await a.scrape()).toMatch(/failures_total\{cluster="c3",reason="other-cluster"\} [1-9]/);
  });

  test('a kubeconfig of another cluster stops the cluster in a new process too, until the annotation is deleted', async () => {
    await setUp(['c1']);
    await rig.addPlane('stranger');
    const a = await rig.replica('a');
    await rig.clock.advance(10_000);
    await a.stop();
    await rig.changeKubeconfig('c1', rig.kubeconfig('stranger'));
    const b = await rig.replica('b');
    await rig.clock.advance(30_000);
    expect(await b.states()).toEqual(['c1 failed']);
    const body = { metadata: { annotations: { 'target-cluster-uid': null } } };
    await rig.admin('seed').resource(leases, 'c1').patch(LEASE, { type: 'merge', body });
    await rig.clock.advance(60_000);
    expect(await b.states()).toEqual(['c1 serving']);
    expect(await rig.beats('stranger')).toBeGreaterThan(0);
  });

  test('another cluster behind an unchanged Secret is detected before the next write of the minute', async () => {
    await setUp(['c1', 'c2']);
    await rig.addPlane('stranger');
    const a = await rig.replica('a');
    await rig.clock.advance(10_000);
    rig.redirected.set('c1', 'stranger');
    await rig.clock.advance(61_000);
    const written = await rig.beats('stranger');
    await rig.clock.advance(300_000);
    expect(await rig.beats('stranger')).toBe(written);
    expect(await a.states()).toEqual(['c1 failed', 'c2 serving']);
  });
});

describe('two replicas', () => {
  test('replicas share the clusters, and a new replica takes only its share after the Lease was released', async () => {
    await setUp();
    await rig.replica('a');
    await rig.clock.advance(10_000);
    const before = await Promise.all(CLUSTERS.map((cluster) => rig.lease(cluster)));
    await rig.replica('b');
    await rig.clock.advance(10_000);
    const after = await rig.holders(CLUSTERS);
    expect(new Set(after)).toEqual(new Set(['a', 'b']));
    const kept = CLUSTERS.filter((_, index) => after[index] === 'a');
    const transitions = await Promise.all(CLUSTERS.map((cluster) => rig.lease(cluster)));
    for (const [index, cluster] of CLUSTERS.entries()) {
      const moved = kept.includes(cluster) ? 0 : 1;
      expect(transitions[index]?.spec?.leaseTransitions).toBe((before[index]?.spec?.leaseTransitions ?? 0) + moved);
    }
  });

  test('replicas send no write of a former run after the Lease has moved', async () => {
    await setUp();
    await rig.replica('a');
    await rig.clock.advance(10_000);
    await rig.replica('b');
    await rig.clock.advance(40_000);
    expect(new Set(await rig.holders(CLUSTERS))).toEqual(new Set(['a', 'b']));
    expect(rig.unfenced).toEqual([]);
    for (const cluster of CLUSTERS) expect(await rig.beats(cluster)).toBeGreaterThan(0);
  });

  test('a replica with a weight of 0 serves no cluster', async () => {
    await setUp();
    await rig.replica('a', ['--fleet-weight=0']);
    await rig.replica('b');
    await rig.clock.advance(20_000);
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'b'));
  });

  test('an operator drains a replica and moves a cluster with annotations of the peer Leases', async () => {
    await setUp();
    await rig.replica('a');
    await rig.replica('b');
    await rig.clock.advance(20_000);
    const before = await rig.holders(CLUSTERS);
    const annotate = async (replica: string, annotations: Readonly<Record<string, string | null>>) => {
      await rig
        .admin('seed')
        .resource(leases, 'default')
        .patch(`demo-fleet-${replica}`, { type: 'merge', body: { metadata: { annotations } } });
      await rig.clock.advance(10_000);
    };
    const moved = CLUSTERS.filter((_, index) => before[index] === 'a').slice(0, 1);
    await annotate('b', { 'fleet-clusters': moved.join(',') });
    expect(await rig.holders(CLUSTERS)).toEqual(
      CLUSTERS.map((one, index) => (moved.includes(one) ? 'b' : before[index])),
    );
    await annotate('b', { 'fleet-drain': 'true' });
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'a'));
    await annotate('b', { 'fleet-drain': null, 'fleet-clusters': null });
    expect(await rig.holders(CLUSTERS)).toEqual(before);
    await annotate('b', { 'fleet-weight': '0' });
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'a'));
    await annotate('b', { 'fleet-weight': 'many' });
    expect(await rig.holders(CLUSTERS)).toEqual(before);
  });

  test('after one of two replicas is killed, the other one serves all clusters when the Leases have expired', async () => {
    await setUp();
    const a = await rig.replica('a');
    await rig.replica('b');
    await rig.clock.advance(20_000);
    expect(new Set(await rig.holders(CLUSTERS))).toEqual(new Set(['a', 'b']));
    a.kill();
    await rig.clock.advance(LEASE_AND_MORE_MS);
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'b'));
    const counts = await Promise.all(CLUSTERS.map((cluster) => rig.beats(cluster)));
    await rig.clock.advance(5_000);
    for (const [index, cluster] of CLUSTERS.entries()) {
      expect(await rig.beats(cluster)).not.toBe(counts[index]);
    }
  });

  test('after an orderly end of one replica, the other one serves all clusters within a second', async () => {
    await setUp();
    const a = await rig.replica('a');
    await rig.replica('b');
    await rig.clock.advance(20_000);
    expect(await a.stop()).toBe(0);
    await rig.clock.advance(1_000);
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'b'));
  });
});

describe('the Lease of a cluster', () => {
  test('one cluster moves from a single process to the fleet and back with its Lease', async () => {
    await setUp(['c1', 'c2']);
    const single = await rig.single('single', 'c1');
    await rig.clock.advance(5_000);
    const a = await rig.replica('a');
    await rig.clock.advance(30_000);
    expect(await rig.holders(['c1', 'c2'])).toEqual(['single', 'a']);
    expect(await a.states()).toEqual(['c1 waiting', 'c2 serving']);
    expect((await a.status())[0]).toMatchObject({ assigned: 'a', holder: 'single' });
    await single.stop();
    await rig.clock.advance(5_000);
    expect(await rig.holders(['c1', 'c2'])).toEqual(['a', 'a']);
    const back = await rig.single('back', 'c1');
    await rig.clock.advance(30_000);
    expect(await rig.holder('c1')).toBe('a');
    const body = { metadata: { labels: { fleet: null } } };
    await rig.admin('seed').resource(namespaces).patch('c1', { type: 'merge', body });
    await rig.clock.advance(5_000);
    expect(await rig.holders(['c1', 'c2'])).toEqual(['back', 'a']);
    expect(await a.states()).toEqual(['c2 serving']);
    await back.stop();
  });

  test('a fleet renews the Lease of a cluster less often than a single process, with the same duration', async () => {
    await setUp(['c1', 'c2']);
    await rig.single('single', 'c1');
    await rig.replica('a');
    await rig.clock.advance(20_000);
    const from = rig.arrived.length;
    await rig.clock.advance(60_000);
    const renewals = (name: string, cluster: string) =>
      rig.arrived
        .slice(from)
        .filter(
          ({ process, method, path }) => process === name && method === 'PUT' && path.includes(`/${cluster}/leases`),
        ).length;
    expect([renewals('single', 'c1'), renewals('a', 'c2')]).toEqual([30, 15]);
    expect((await rig.lease('c2')).spec?.leaseDurationSeconds).toBe((await rig.lease('c1')).spec?.leaseDurationSeconds);
  });
});

test('a folder has one cluster for each kubeconfig, and follows its files', async () => {
  await setUp(['c1', 'c2']);
  await rig.addPlane('stranger');
  const folder = join(rig.folder, 'kubeconfigs');
  const file = (name: string) => join(folder, `${name}.kubeconfig`);
  await rig.writeFolder(folder, { one: 'c1', two: 'c2' });
  await writeFile(file('bad'), 'nonsense');
  const a = await rig.replicaOfFolder('a', folder);
  await rig.clock.advance(15_000);
  expect(await a.states()).toEqual(['bad failed', 'one serving', 'two serving']);
  await unlink(file('bad'));
  await writeFile(`${file('two')}.new`, rig.kubeconfig('stranger'));
  await rename(`${file('two')}.new`, file('two'));
  await rig.clock.advance(30_000);
  expect(await a.states()).toEqual(['one serving', 'two failed']);
  expect(await errorOf(a, 'two')).toMatch(/refers to another cluster.*remove .*two\.kubeconfig, wait/);
  expect(await rig.beats('stranger')).toBeUndefined();
  await unlink(file('two'));
  await rig.clock.advance(15_000);
  await writeFile(file('two'), rig.kubeconfig('stranger'));
  await rig.clock.advance(15_000);
  expect(await a.states()).toEqual(['one serving', 'two serving']);
});

test.each([
  ['--target-kubeconfig=x', /--target-kubeconfig must be absent in the fleet mode/],
  ['--leader-elect=false', /--leader-elect=false is not allowed in the fleet mode/],
  ['--fleet-folder=x', /--fleet-namespaces and --fleet-folder cannot be combined/],
  ['--observe-only', /--observe-only is not available in the fleet mode/],
  ['--fleet-replica=A_b', /--fleet-replica must contain only lower-case letters/],
])('%s is refused before any connection', async (flag, says) => {
  await setUp([]);
  await expect(rig.replica('a', [flag])).rejects.toThrow(says);
  expect(rig.arrived).toEqual([]);
});

describe('quiet clusters', () => {
  const QUIET = ['--fleet-quiet-lease-duration=90s'];

  test('the Lease of a quiet cluster has a longer duration and one renewal in 30 seconds', async () => {
    await setUp();
    await rig.replica('a', QUIET);
    await rig.clock.advance(50_000);
    expect((await rig.lease('c1')).spec?.leaseDurationSeconds).toBe(15);
    await rig.clock.advance(30_000);
    expect((await rig.lease('c1')).spec?.leaseDurationSeconds).toBe(90);
    rig.arrived.length = 0;
    await rig.clock.advance(300_000);
    const renewals = rig.arrived.filter(({ method, path }) => method === 'PUT' && path.endsWith('/leases/demo'));
    expect(renewals.length).toBeLessThanOrEqual(11 * CLUSTERS.length);
  });

  test('another replica serves the quiet clusters of a killed replica after the longer duration', async () => {
    await setUp();
    const a = await rig.replica('a', QUIET);
    await rig.replica('b', QUIET);
    await rig.clock.advance(120_000);
    const before = await rig.holders(CLUSTERS);
    expect(new Set(before)).toEqual(new Set(['a', 'b']));
    a.kill();
    await rig.clock.advance(90_000 + LEASE_AND_MORE_MS);
    expect(await rig.holders(CLUSTERS)).toEqual(CLUSTERS.map(() => 'b'));
  });

  test('a duration that is not longer than that of other Leases is refused', async () => {
    await setUp();
    await expect(rig.replica('a', ['--fleet-quiet-lease-duration=10s'])).rejects.toThrow(
      '--fleet-quiet-lease-duration must be 0 or longer than --leader-elect-lease-duration (15s)',
    );
  });
});
