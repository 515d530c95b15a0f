import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, type Machine, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  type KubeClient,
  type KubeObject,
  leases,
  namespaces,
  type ResourceDefinition,
  realClock,
  secrets,
  seededRandom,
} from '@mcm/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { serveDashboard } from '../dashboard/serve.ts';
import { memberConfig } from '../members/kubeconfig.ts';
import { readSource } from '../members/source.ts';
import { createProgram } from '../program.ts';

const kind = (group: string, version: string, plural: string, name: string) =>
  ({ group, version, plural, kind: name, namespaced: true }) satisfies ResourceDefinition<KubeObject>;
const CLUSTERS = kind('cluster.x-k8s.io', 'v1beta2', 'clusters', 'Cluster');
const PROFILES = kind('multicluster.x-k8s.io', 'v1alpha1', 'clusterprofiles', 'ClusterProfile');

/** The cluster with the replicas, and the cluster of one ClusterProfile. */
let seed: ControlPlane;
let member: ControlPlane;
let dir: string;
const connect = ({ transport }: ControlPlane): KubeClient =>
  createClient({ transport, userAgent: 'test', clock: realClock });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'mcm-fleet-'));
  [seed, member] = (await Promise.all(
    [1, 2].map(() => startControlPlane({ port: 0, clock: realClock, crds, controllers: false })),
  )) as [ControlPlane, ControlPlane];
  writeFileSync(join(dir, 'kubeconfig'), seed.kubeconfig(), { mode: 0o600 });
  for (const definition of [CLUSTERS, PROFILES]) await addCrd(definition);
});
afterAll(async () => {
  await Promise.all([seed.close(), member.close()]);
  rmSync(dir, { recursive: true, force: true });
});

async function addCrd({ group, version, plural, kind: name }: ResourceDefinition<KubeObject>): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await connect(seed).request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
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

/** Runs `mcm` and returns the printed lines, without spaces at the end. */
async function mcm(...words: readonly string[]): Promise<readonly string[]> {
  const said: string[] = [];
  const program = createProgram({
    say: (line) => said.push(line.replace(/ +$/, '')),
    random: seededRandom(1),
    signal: () => new AbortController().signal,
    stdout: process.stdout,
  });
  await program.exitOverride().parseAsync(['node', 'mcm', ...words, '--kubeconfig', join(dir, 'kubeconfig')]);
  return said;
}

const words = (line = ''): string => line.replaceAll(/ {2,}/g, ' | ');

async function addReplica(home: string, replica: string, source: object): Promise<void> {
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  for (const program of ['machine-controller-manager', 'machine-controller-aws'])
    await connect(seed)
      .resource(leases, home)
      .create({
        metadata: {
          name: `${program}-fleet-${replica}`,
          annotations: { 'holder-settings': `${program} ${JSON.stringify({ ...source, 'fleet-weight': 100 })}` },
        },
        spec: { holderIdentity: program, leaseDurationSeconds: 3600, renewTime },
      });
}

async function addLeases(client: KubeClient, namespace: string): Promise<void> {
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  for (const [name, holderIdentity] of [
    ['machine-controller-manager', 'machine-controller-manager.7'],
    ['machine-controller', 'machine-controller-aws.7'],
  ] as const)
    await client
      .resource(leases, namespace)
      .create({ metadata: { name }, spec: { holderIdentity, leaseDurationSeconds: 3600, renewTime } });
}

async function addMachine(client: KubeClient, namespace: string, name: string, phase: string): Promise<void> {
  const all = client.resource<Machine>(machines, namespace);
  await all.create({ metadata: { name, namespace }, spec: { class: { kind: 'MachineClass', name: 'c' } } });
  await all.patch(name, { type: 'merge', body: { status: { currentStatus: { phase } } } }, { subresource: 'status' });
}

describe('with twenty clusters of Cluster API', () => {
  const client = (): KubeClient => connect(seed);
  const cluster = (index: number): string => `capi-${String(index).padStart(2, '0')}`;
  const COUNT = 20;

  beforeAll(async () => {
    await client()
      .resource(namespaces)
      .create({ metadata: { name: 'mcm' } });
    await addReplica('mcm', '0', { 'fleet-clusters': 'mcm-fleet=aws' });
    for (let index = 1; index <= COUNT; index += 1) {
      const namespace = `ns-${cluster(index)}`;
      await client()
        .resource(namespaces)
        .create({ metadata: { name: namespace } });
      const metadata = { name: cluster(index), namespace, labels: { 'mcm-fleet': 'aws' } };
      await client().resource(CLUSTERS, namespace).create({ metadata });
      await addLeases(client(), namespace);
    }
    await client()
      .resource(CLUSTERS, 'mcm')
      .create({ metadata: { name: 'unselected', namespace: 'mcm' } });
    await addMachine(client(), 'ns-capi-02', 'm-1', 'Failed');
    await addMachine(client(), 'ns-capi-03', 'm-2', 'Running');
    const paused = { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } };
    await client().resource(CLUSTERS, 'ns-capi-04').patch('capi-04', { type: 'merge', body: paused });
    const second = { name: 'second', namespace: 'ns-capi-05', labels: { 'mcm-fleet': 'aws' } };
    await client().resource(CLUSTERS, 'ns-capi-05').create({ metadata: second });
    const leaving = { metadata: { finalizers: ['example.com/x'] } };
    await client().resource(CLUSTERS, 'ns-capi-06').patch('capi-06', { type: 'merge', body: leaving });
    await client().resource(CLUSTERS, 'ns-capi-06').delete('capi-06');
  });

  test('mcm fleet clusters finds them without further flags, with problems first', async () => {
    const [head, ...rows] = (await mcm('fleet', 'clusters', '-n', 'mcm')).map(words);
    expect(head).toBe('CLUSTER | OBJECT | MANAGER | CONTROLLER | RUNNING | PROBLEM');
    expect(rows).toHaveLength(COUNT);
    expect(rows.slice(0, 5)).toEqual([
      'ns-capi-02 | cluster/capi-02 | 0 | 0 | 0/1 | 1 of 1 machines are not Running',
      'ns-capi-04 | cluster/capi-04 | 0 | 0 | 0/0 | the Cluster capi-04 is paused',
      'ns-capi-05 | cluster/capi-05 | 0 | 0 | 0/0 | the namespace contains the Clusters capi-05, second; select only one Cluster in each namespace',
      'ns-capi-06 | cluster/capi-06 | 0 | 0 | 0/0 | the Cluster capi-06 is being deleted; machines left: 0',
      'ns-capi-01 | cluster/capi-01 | 0 | 0 | 0/0 | -',
    ]);
    expect(await mcm('fleet', 'clusters', '-n', 'mcm', '-l', 'mcm-fleet=gcp')).toEqual([
      'No Cluster of Cluster API has the labels mcm-fleet=gcp',
    ]);
  });

  test('mcm tree --fleet and mcm fleet status show the clusters and their replica', async () => {
    const tree = (await mcm('tree', '--fleet', '-n', 'mcm')).join('\n');
    expect(tree).toMatch(/cluster\/ns-capi-02 .*1 of 1 machines[\s\S]*machine\/m-1/);
    expect(tree).not.toContain('machine/m-2');
    const [, ...replicas] = (await mcm('fleet', 'status', '-n', 'mcm')).map(words);
    expect(replicas.map((line) => line.split(' | ').filter((_, index) => [0, 1, 2, 5].includes(index)))).toEqual([
      ['machine-controller-aws', '0', 'live', '20'],
      ['machine-controller-manager', '0', 'live', '20'],
    ]);
  });

  test('mcm fleet move takes the name of a Cluster or its namespace', async () => {
    const chosen = async () =>
      (await client().resource(leases, 'mcm').get('machine-controller-manager-fleet-0')).metadata.annotations?.[
        'fleet-clusters'
      ];
    await mcm('fleet', 'move', 'capi-07', '--to', '0', '-n', 'mcm');
    expect(await chosen()).toBe('ns-capi-07');
    await mcm('fleet', 'move', 'ns-capi-07', '-n', 'mcm');
    expect(await chosen()).toBeUndefined();
  });

  test('the page Clusters of the dashboard gets a row for each namespace with a Cluster', async () => {
    const end = new AbortController();
    const fleet = await readSource(client(), 'mcm');
    const around = { client: client(), target: client(), namespace: 'mcm', close: async () => undefined };
    const settings = { random: seededRandom(1), signal: end.signal, port: 0, allNamespaces: true, fleet };
    const dashboard = await serveDashboard(around, settings);
    let text = '';
    const { body } = await fetch(new URL('/live', dashboard.url), { signal: end.signal });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    const known = (): number => new Set(text.match(/"key":"ns-capi-\d+","region"/g)).size;
    while (known() < COUNT) text += (await reader?.read())?.value ?? '';
    expect(text).toContain('"object":"cluster/capi-04","problem":"The Cluster capi-04 is paused.","elsewhere":false');
    await reader?.cancel();
    await dashboard.close();
    end.abort(new Error('the test is over'));
  });

  test('the kubeconfig for mcm explain comes from the Secret of Cluster API, with and without the peer Leases', async () => {
    const metadata = { name: 'capi-08-kubeconfig' };
    await client()
      .resource(secrets, 'ns-capi-08')
      .create({ metadata, stringData: { value: member.kubeconfig() } });
    const expected = { config: { server: member.url }, namespace: 'ns-capi-08', inSeed: true };
    for (const [name, home] of [
      ['capi-08', 'mcm'],
      ['ns-capi-08', 'mcm'],
      ['ns-capi-08', 'default'],
    ] as const)
      expect([name, home, await memberConfig(client(), name, home)]).toMatchObject([name, home, expected]);
    await expect(memberConfig(client(), 'capi-09', 'mcm')).rejects.toThrow(
      'cannot read Secret ns-capi-09/capi-09-kubeconfig',
    );
    await expect(memberConfig(client(), 'nobody', 'mcm')).rejects.toThrow(
      'no Cluster with the labels mcm-fleet=aws has the name or the namespace nobody',
    );
    await addMachine(client(), 'ns-capi-08', 'm-3', 'Running');
    expect((await mcm('explain', 'capi-08/machine/m-3', '-n', 'mcm')).join('\n')).toContain('m-3');
  });
});

describe('with ClusterProfiles', () => {
  const client = (): KubeClient => connect(seed);

  beforeAll(async () => {
    await client()
      .resource(namespaces)
      .create({ metadata: { name: 'inventory' } });
    await addReplica('inventory', '0', { 'fleet-cluster-profiles': 'mcm-fleet=aws' });
    for (const name of ['one', 'two', 'three']) {
      const metadata = { name, namespace: 'inventory', labels: { 'mcm-fleet': 'aws' } };
      await client().resource(PROFILES, 'inventory').create({ metadata });
    }
    const keys = {
      one: member.kubeconfig(),
      two: member.kubeconfig().replaceAll(/server: .*/g, 'server: https://127.0.0.1:1'),
    };
    for (const [name, Config] of Object.entries(keys))
      await client()
        .resource(secrets, 'inventory')
        .create({ metadata: { name, labels: { 'x-k8s.io/cluster-profile': name } }, stringData: { Config } });
    await addLeases(connect(member), 'default');
    await addMachine(connect(member), 'default', 'm-1', 'Running');
  });

  test('mcm fleet clusters reads each cluster, and an unreachable cluster delays no other', async () => {
    const rows = (await mcm('fleet', 'clusters', '-n', 'inventory')).map(words);
    expect(rows).toEqual([
      'CLUSTER | MANAGER | CONTROLLER | RUNNING | PROBLEM',
      'three | - | - | 0/0 | cannot read the cluster: no Secret has the label x-k8s.io/cluster-profile=three',
      expect.stringMatching(/^two \| - \| - \| 0\/0 \| cannot read the cluster: .*ECONNREFUSED/),
      'one | 0 | 0 | 1/1 | -',
    ]);
  });

  test('the status counts the Leases in the clusters, and the tree shows their machines', async () => {
    const [, ...replicas] = (await mcm('fleet', 'status', '-n', 'inventory')).map(words);
    expect(replicas.map((line) => line.split(' | ')[5])).toEqual(['1', '1']);
    expect((await mcm('tree', '--fleet', '--all', '-n', 'inventory')).join('\n')).toMatch(
      /cluster\/one [\s\S]*machine\/m-1/,
    );
  });

  test('mcm explain reads the machine objects of the cluster itself', async () => {
    expect((await mcm('explain', 'one/machine/m-1', '-n', 'inventory')).join('\n')).toContain('m-1');
    await expect(mcm('explain', 'three/machine/m-1', '-n', 'inventory')).rejects.toThrow('no Secret has the label');
  });
});

describe('with a folder of kubeconfigs', () => {
  beforeEach(async () => {
    await connect(seed)
      .resource(namespaces)
      .create({ metadata: { name: 'folder' } });
    await addReplica('folder', '0', { 'fleet-folder': '/clusters' });
  });
  afterEach(() => connect(seed).resource(namespaces).delete('folder'));

  test('mcm names the folder, and the status still shows the replicas', async () => {
    await expect(mcm('fleet', 'clusters', '-n', 'folder')).rejects.toThrow('from the folder /clusters of its pods');
    expect(await mcm('fleet', 'status', '-n', 'folder')).toHaveLength(3);
  });
});
