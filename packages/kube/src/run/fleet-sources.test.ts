import { startControlPlane } from '@mcm/control-plane';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import { holderSettings } from '../election/record.ts';
import { events, namespaces, secrets } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { FLEET_FINALIZER, FleetRig, type Replica } from './fleet-rig.testing.ts';

interface Cluster extends KubeObject {
  spec?: { paused?: boolean };
}

const kind = <T extends KubeObject>(group: string, version: string, plural: string, name: string) =>
  ({ group, version, plural, kind: name, namespaced: true }) satisfies ResourceDefinition<T>;
const CLUSTERS: ResourceDefinition<Cluster> = kind('cluster.x-k8s.io', 'v1beta2', 'clusters', 'Cluster');
const PROFILES = kind('multicluster.x-k8s.io', 'v1alpha1', 'clusterprofiles', 'ClusterProfile');
const PROFILE_LABEL = 'x-k8s.io/cluster-profile';

let rig: FleetRig;
beforeEach(async () => {
  rig = await FleetRig.create(startControlPlane, []);
});
afterEach(async () => {
  const { unfenced } = rig;
  await rig.close();
  expect(unfenced).toEqual([]);
});

async function addCrd({ group, version, plural, kind: name }: ResourceDefinition<KubeObject>): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await rig.admin('seed').request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, kind: name, singular: name.toLowerCase(), listKind: `${name}List` },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    },
  });
}

const errorOf = async (replica: Replica, cluster: string): Promise<string> =>
  (await replica.status()).find((one) => one.cluster === cluster)?.error ?? '';

describe('clusters of Cluster API', () => {
  const clusters = (namespace: string) => rig.admin('seed').resource(CLUSTERS, namespace);
  const kubeconfigs = (namespace: string) => rig.admin('seed').resource(secrets, namespace);
  const start = (name: string, more: readonly string[] = []): Promise<Replica> =>
    rig.replicaWith(name, ['--fleet-clusters=mcm=yes', ...more]);

  const addCluster = async (namespace: string, name: string, kubeconfig = rig.kubeconfig(namespace)): Promise<void> => {
    await clusters(namespace).create({ metadata: { name, namespace, labels: { mcm: 'yes' } }, spec: {} });
    const metadata = { name: `${name}-kubeconfig` };
    await kubeconfigs(namespace).create({ metadata, stringData: { value: kubeconfig } });
  };

  beforeEach(async () => {
    await addCrd(CLUSTERS);
    for (const name of ['c1', 'c2', 'c3']) {
      await rig.addPlane(name);
      await rig.admin('seed').resource(namespaces).create({ metadata: { name } });
    }
    await addCluster('c1', 'one');
    await addCluster('c2', 'two');
  });

  test('a selected Cluster is served in its namespace with the kubeconfig of its Secret', async () => {
    await clusters('c3').create({ metadata: { name: 'other', namespace: 'c3' } });
    const a = await start('a');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
    expect(await rig.holders(['c1', 'c2'])).toEqual(['a', 'a']);
    expect(await rig.beats('c1')).toBeGreaterThan(1);
    const peers = (await rig.admin('seed').resource(leases).list()).items.filter(({ metadata }) =>
      metadata.name.endsWith('-fleet-a'),
    );
    expect(peers.map((lease) => holderSettings(lease)?.['fleet-clusters'])).toEqual(['mcm=yes']);
    await addCluster('c3', 'three');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving', 'c3 serving']);
    const wrong = rig.arrived.filter(({ server, authorization }) => authorization !== `Bearer token-of-${server}`);
    expect(wrong).toEqual([]);
    const paths = rig.arrived.filter(({ path }) => path.includes('/secrets?') && !path.includes('fieldSelector'));
    expect(paths).toEqual([]);
  });

  test.each([
    ['its field', { spec: { paused: true } }, { spec: { paused: null } }],
    [
      'an annotation',
      { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } },
      { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } },
    ],
  ])('a Cluster that %s pauses leaves the fleet until its end', async (_what, pause, resume) => {
    const a = await start('a');
    await rig.clock.advance(15_000);
    await clusters('c2').patch('two', { type: 'merge', body: pause });
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving']);
    expect(await rig.holders(['c1', 'c2'])).toEqual(['a', '']);
    expect((await kubeconfigs('c2').get('two-kubeconfig')).metadata.finalizers).toBeUndefined();
    await clusters('c2').patch('two', { type: 'merge', body: resume });
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
  });

  test('a deleted Cluster stays in the fleet until its object is gone', async () => {
    const body = { metadata: { finalizers: ['cluster.cluster.x-k8s.io'] } };
    await clusters('c2').patch('two', { type: 'merge', body });
    const a = await start('a');
    await rig.clock.advance(15_000);
    await clusters('c2').delete('two');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
    expect((await kubeconfigs('c2').get('two-kubeconfig')).metadata.finalizers).toEqual([FLEET_FINALIZER]);
    await clusters('c2').patch('two', { type: 'merge', body: { metadata: { finalizers: null } } });
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 serving']);
    expect(await rig.holder('c2')).toBe('');
    expect((await kubeconfigs('c2').get('two-kubeconfig')).metadata.finalizers).toBeUndefined();
  });

  test('the machines of a deleted namespace keep their controllers after the Cluster is gone', async () => {
    await rig.addWork('c2');
    const a = await start('a');
    await rig.clock.advance(15_000);
    await rig.admin('seed').resource(namespaces).delete('c2');
    await rig.clock.advance(30_000);
    expect((await clusters('c2').list()).items).toEqual([]);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
    await rig.endWork('c2');
    await rig.clock.advance(400_000);
    expect(await a.states()).toEqual(['c1 serving']);
  });

  test('a bad kubeconfig stops only its cluster, with an event', async () => {
    const body = { stringData: { value: '{' } };
    await kubeconfigs('c2').patch('two-kubeconfig', { type: 'merge', body });
    const a = await start('a');
    await rig.clock.advance(30_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 failed']);
    const recorded = (await rig.admin('seed').resource(events, 'c2').list()).items;
    expect(recorded.map(({ reason, involvedObject }) => `${reason} ${involvedObject?.name}`)).toContain(
      'FleetClusterStopped two-kubeconfig',
    );
    await kubeconfigs('c2').patch('two-kubeconfig', {
      type: 'merge',
      body: { stringData: { value: rig.kubeconfig('c2') } },
    });
    await rig.clock.advance(10_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
  });

  test('a Cluster without its Secret, and a second Cluster in the namespace, are refused with the fix', async () => {
    await kubeconfigs('c1').delete('one-kubeconfig');
    await clusters('c2').create({ metadata: { name: 'zwei', namespace: 'c2', labels: { mcm: 'yes' } } });
    const a = await start('a');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 refused', 'c2 refused']);
    expect(await errorOf(a, 'c1')).toContain('Secret c1/one-kubeconfig does not exist; create the Secret');
    expect(await errorOf(a, 'c2')).toContain('contains the Clusters two, zwei; select only one Cluster');
    await clusters('c2').delete('zwei');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 refused', 'c2 serving']);
  });

  test('a missing permission for the Secret of one namespace refuses only its cluster', async () => {
    rig.refuse = ({ path }) => path.startsWith('/api/v1/namespaces/c1/secrets?');
    const a = await start('a');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 refused', 'c2 serving']);
    expect(await errorOf(a, 'c1')).toContain('Secret c1/one-kubeconfig cannot be read: ');
    rig.refuse = () => false;
    await rig.clock.advance(120_000);
    expect(await a.states()).toEqual(['c1 serving', 'c2 serving']);
  });

  test('a namespace with a hand-over mark is left to its own process', async () => {
    const body = { metadata: { annotations: { 'mcm-fleet-handed-over': 'large' } } };
    await rig.admin('seed').resource(namespaces).patch('c1', { type: 'merge', body });
    const a = await start('a');
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['c1 handed-over', 'c2 serving']);
  });
});

test('a replica waits for the CRD of Clusters', async () => {
  const a = await rig.replicaWith('a', ['--fleet-clusters=mcm=yes']);
  await rig.clock.advance(15_000);
  expect(await a.states()).toEqual([]);
  await rig.addPlane('c1');
  await rig
    .admin('seed')
    .resource(namespaces)
    .create({ metadata: { name: 'c1' } });
  await addCrd({ ...CLUSTERS, version: 'v1beta1' });
  const clusters = rig.admin('seed').resource({ ...CLUSTERS, version: 'v1beta1' }, 'c1');
  await clusters.create({ metadata: { name: 'one', namespace: 'c1', labels: { mcm: 'yes' } } });
  const value = rig.kubeconfig('c1');
  await rig
    .admin('seed')
    .resource(secrets, 'c1')
    .create({ metadata: { name: 'one-kubeconfig' }, stringData: { value } });
  await rig.clock.advance(45_000);
  expect(await a.states()).toEqual(['c1 serving']);
});

describe('clusters of ClusterProfiles', () => {
  const profiles = () => rig.admin('seed').resource(PROFILES, 'default');
  const credentials = () => rig.admin('seed').resource(secrets, 'default');
  const addSecret = async (name: string, profile: string, data: Readonly<Record<string, string>>): Promise<void> => {
    await credentials().create({ metadata: { name, labels: { [PROFILE_LABEL]: profile } }, stringData: data });
  };

  beforeEach(async () => {
    // Another kind of this API group has only a newer version.
    await addCrd(kind('multicluster.x-k8s.io', 'v1beta1', 'serviceimports', 'ServiceImport'));
    await addCrd(PROFILES);
    for (const name of ['p1', 'p2']) {
      await rig.addPlane(name);
      await profiles().create({ metadata: { name, namespace: 'default', labels: { mcm: 'yes' } } });
    }
    await addSecret('s1', 'p1', { Config: rig.kubeconfig('p1') });
  });

  test('a profile with a Secret is served in the cluster itself until the profile is deleted', async () => {
    const a = await rig.replicaWith('a', ['--fleet-cluster-profiles=mcm=yes']);
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['p1 serving', 'p2 refused']);
    expect(await errorOf(a, 'p2')).toContain(`label ${PROFILE_LABEL}=p2`);
    expect(await rig.beats('p1')).toBeGreaterThan(1);
    await addSecret('s2', 'p2', { Config: rig.kubeconfig('p2') });
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['p1 serving', 'p2 serving']);
    await profiles().delete('p1');
    await credentials().patch('s2', { type: 'merge', body: { metadata: { labels: { [PROFILE_LABEL]: 'p9' } } } });
    await rig.clock.advance(15_000);
    expect(await a.states()).toEqual(['p2 refused']);
  });

  test('a bad kubeconfig, a missing key and a second Secret stop only their cluster, with an event', async () => {
    await addSecret('s2', 'p2', { Config: '{' });
    const a = await rig.replicaWith('a', ['--fleet-cluster-profiles=mcm=yes']);
    await rig.clock.advance(30_000);
    expect(await a.states()).toEqual(['p1 serving', 'p2 failed']);
    const recorded = (await rig.admin('seed').resource(events, 'default').list()).items;
    expect(recorded.map(({ reason, involvedObject }) => `${reason} ${involvedObject?.kind}`)).toContain(
      'FleetClusterStopped ClusterProfile',
    );
    await credentials().patch('s2', { type: 'merge', body: { data: { Config: null } } });
    await rig.clock.advance(10_000);
    expect(await errorOf(a, 'p2')).toContain('Secret default/s2 has no key Config');
    await credentials().patch('s2', { type: 'merge', body: { stringData: { Config: rig.kubeconfig('p2') } } });
    await addSecret('s3', 'p2', { Config: rig.kubeconfig('p2') });
    await rig.clock.advance(10_000);
    expect(await errorOf(a, 'p2')).toContain('the Secrets s2, s3 of namespace default');
    await credentials().delete('s2');
    await rig.clock.advance(10_000);
    expect(await a.states()).toEqual(['p1 serving', 'p2 serving']);
  });
});

test.each([
  [['--fleet-clusters=a=b', '--fleet-folder=x'], /--fleet-clusters and --fleet-folder cannot be combined/],
  [
    ['--fleet-cluster-profiles=a=b', '--fleet-cache-limit=1'],
    /--fleet-cache-limit needs --fleet-namespaces or --fleet-clusters/,
  ],
])('%s is refused before any connection', async (flags, says) => {
  await expect(rig.replicaWith('a', flags)).rejects.toThrow(says);
  expect(rig.arrived).toEqual([]);
});
