import { crds, type Machine, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, leases, namespaces, secrets, type Transport, VirtualClock } from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inFleetCluster } from '../cluster/cluster-options.ts';
import { memberConfig } from '../members/kubeconfig.ts';
import { clusterTree } from '../tree/clusters.ts';
import type { Branch } from '../tree/tree.ts';
import { drain, handedOver, move, replicaRows, setWeight } from './actions.ts';
import { clusterRows } from './clusters.ts';

const AWS = { flag: 'fleet-namespaces', selector: 'mcm-fleet=aws' } as const;
let client: KubeClient;
let transport: Transport;
let close: () => Promise<void>;
const clock = new VirtualClock();

beforeEach(async () => {
  const plane = await startControlPlane({ clock, controllers: false, crds });
  close = () => plane.close();
  transport = plane.transport;
  client = createClient({ transport, userAgent: 'test', clock });
});
afterEach(() => close());

const create = (name: string, holderIdentity: string, settings?: object) =>
  client.resource(leases, 'default').create({
    metadata: {
      name,
      annotations: settings === undefined ? {} : { 'holder-settings': `${holderIdentity} ${JSON.stringify(settings)}` },
    },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: clock.now().toISOString().replace('Z', '000Z') },
  });
const annotations = async (name: string) => {
  const { 'holder-settings': _, ...others } =
    (await client.resource(leases, 'default').get(name)).metadata.annotations ?? {};
  return others;
};

async function twoReplicas(): Promise<void> {
  await create('machine-controller-manager-fleet-0', 'a', { 'fleet-weight': 100, unreachable: ['c9'] });
  await create('machine-controller-manager-fleet-1', '', undefined);
  await create('machine-controller-aws-fleet-0', 'b', { 'fleet-weight': 1 });
  await create('machine-controller-manager', 'a.7');
  await create('machine-controller', 'b.12');
}

test('the status shows each replica with its state, its weight and the number of its clusters', async () => {
  await twoReplicas();
  const rows = async () =>
    (await replicaRows(client, 'default', clock.now())).map(
      ({ program, replica, state, weight, clusters, unreachable }) =>
        `${program} ${replica} ${state} ${weight} ${clusters} ${unreachable.join()}`.trimEnd(),
    );
  expect(await rows()).toEqual([
    'machine-controller-aws 0 live 1 1',
    'machine-controller-manager 0 live 100 1 c9',
    'machine-controller-manager 1 stopped 0 0',
  ]);
  await clock.advance(16_000);
  expect((await rows())[0]).toBe('machine-controller-aws 0 expired 1 1');
});

test('a drain changes the Leases of all programs, and a repetition changes nothing', async () => {
  await twoReplicas();
  expect((await drain(client, 'default', '0', true)).map(({ action }) => action)).toEqual([
    'drain requested',
    'drain requested',
  ]);
  expect(await annotations('machine-controller-aws-fleet-0')).toEqual({ 'fleet-drain': 'true' });
  expect((await drain(client, 'default', '0', true)).map(({ action }) => action)).toEqual(['unchanged', 'unchanged']);
  await drain(client, 'default', '0', false);
  expect(await annotations('machine-controller-aws-fleet-0')).toEqual({});
  await expect(drain(client, 'default', 'x', true)).rejects.toThrow(
    'the namespace default has no peer Lease of the replica x; the replicas are: 0, 1',
  );
});

test('a weight changes the Leases of all programs until it is reset, and the status shows it', async () => {
  await twoReplicas();
  expect((await setWeight(client, 'default', '0', '1')).map(({ action }) => action)).toEqual(['weight 1', 'weight 1']);
  expect(await annotations('machine-controller-aws-fleet-0')).toEqual({ 'fleet-weight': '1' });
  const weights = async () => (await replicaRows(client, 'default', clock.now())).map(({ weight }) => weight);
  expect(await weights()).toEqual([1, 1, 0]);
  expect((await setWeight(client, 'default', '0', '1')).map(({ action }) => action)).toEqual([
    'unchanged',
    'unchanged',
  ]);
  await setWeight(client, 'default', '0', undefined);
  expect([await annotations('machine-controller-aws-fleet-0'), await weights()]).toEqual([{}, [1, 100, 0]]);
  await expect(setWeight(client, 'default', '0', '1%')).rejects.toThrow('<weight> must be an integer from 0 to 1000');
});

test('a move assigns a cluster to one replica, and without a replica the hash decides again', async () => {
  await twoReplicas();
  await move(client, 'default', 'c1', '0');
  await move(client, 'default', 'c2', '0');
  expect(await annotations('machine-controller-manager-fleet-0')).toEqual({ 'fleet-clusters': 'c1,c2' });
  await move(client, 'default', 'c1', '1');
  expect(await annotations('machine-controller-manager-fleet-0')).toEqual({ 'fleet-clusters': 'c2' });
  expect(await annotations('machine-controller-manager-fleet-1')).toEqual({ 'fleet-clusters': 'c1' });
  await move(client, 'default', 'c1', undefined);
  expect(await annotations('machine-controller-manager-fleet-1')).toEqual({});
  await expect(move(client, 'default', 'a,b', '0')).rejects.toThrow('<cluster> must be the name of a cluster');
});

test('two moves at the same time are both kept', async () => {
  await twoReplicas();
  let moved = false;
  const racing = createClient({
    transport: async (request) => {
      if (request.method === 'PATCH' && !moved) {
        moved = true;
        await move(client, 'default', 'c2', '0');
      }
      return transport(request);
    },
    userAgent: 'test',
    clock,
  });
  await move(racing, 'default', 'c1', '0');
  for (const program of ['machine-controller-manager', 'machine-controller-aws']) {
    const chosen = (await annotations(`${program}-fleet-0`))['fleet-clusters'];
    expect(chosen?.split(',').toSorted()).toEqual(['c1', 'c2']);
  }
});

async function cluster(name: string, holders: readonly [manager: string, controller: string]): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name, labels: { 'mcm-fleet': 'aws' } } });
  for (const [index, lease] of ['machine-controller-manager', 'machine-controller'].entries()) {
    const renewTime = clock.now().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: holders[index] ?? '', leaseDurationSeconds: 15, renewTime };
    await client.resource(leases, name).create({ metadata: { name: lease }, spec });
  }
}

async function machineOf(namespace: string, name: string, phase: 'Running' | 'Failed'): Promise<void> {
  const all = client.resource<Machine>(machines, namespace);
  await all.create({ metadata: { name, namespace }, spec: { class: { kind: 'MachineClass', name: 'c' } } });
  const body = { status: { currentStatus: { phase } } };
  await all.patch(name, { type: 'merge', body }, { subresource: 'status' });
}

test('the tree of a fleet shows clusters with a problem first, with their objects but without Nodes', async () => {
  await twoReplicas();
  await cluster('c1', ['a.1', 'b.1']);
  await cluster('c2', ['a.2', 'b.2']);
  await cluster('c3', ['a.3', '']);
  await machineOf('c1', 'm1', 'Running');
  await machineOf('c2', 'm1', 'Running');
  await machineOf('c2', 'm2', 'Failed');
  const lines = async (all: boolean) => {
    const query = { namespace: 'default', source: AWS, now: clock.now() };
    const names = (branches: readonly Branch[]): string[] =>
      branches.flatMap(({ name, children }) => [name, ...names(children)]);
    return names(await clusterTree(client, query, { all }));
  };
  expect(await lines(false)).toEqual(['c2', 'm1', 'm2', 'c3', 'c1']);
  expect(await lines(true)).toEqual(['c2', 'm1', 'm2', 'c3', 'c1', 'm1']);
});

test('the kubeconfig of a cluster comes from its Secret in the seed', async () => {
  await cluster('c1', ['a.1', 'b.1']);
  await expect(memberConfig(client, 'c1', 'default')).rejects.toThrow(
    /^cannot read Secret c1\/fleet-kubeconfig with the kubeconfig of the cluster .* set --target-kubeconfig$/,
  );
  const config = (user: object) =>
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://c1.example' } }],
      users: [{ name: 'u', user }],
    });
  const stringData = { kubeconfig: config({ token: 't' }) };
  await client.resource(secrets, 'c1').create({ metadata: { name: 'fleet-kubeconfig' }, stringData });
  expect(await memberConfig(client, 'c1', 'default')).toMatchObject({
    config: { server: 'https://c1.example' },
    namespace: 'c1',
    inSeed: true,
  });
  await client.resource(secrets, 'c1').create({ metadata: { name: 'own' }, stringData: { value: config({}) } });
  await create('machine-controller-manager-fleet-0', 'a', { 'fleet-namespaces': 'x', 'fleet-secret': 'own' });
  const { config: own } = await memberConfig(client, 'c1', 'default');
  expect(own).toMatchObject({ server: 'https://c1.example' });
  expect(await own.authorization?.()).toBeUndefined();
  await client.resource(leases, 'default').delete('machine-controller-manager-fleet-0');
  // An author of a kubeconfig Secret must not be able to run programs on the computer of the user.
  const body = { stringData: { kubeconfig: config({ exec: { apiVersion: 'v1', command: 'x' } }) } };
  await client.resource(secrets, 'c1').patch('fleet-kubeconfig', { type: 'merge', body });
  await expect(memberConfig(client, 'c1', 'default')).rejects.toThrow('Secret c1/fleet-kubeconfig');
});

test('an object of a fleet has the name of its cluster', () => {
  expect(inFleetCluster('c1/machine/m')).toEqual({ cluster: 'c1', object: 'machine/m' });
  for (const text of ['machine/m', 'm', '/machine/m', 'c1/machine/', 'a/b/c/d'])
    expect(inFleetCluster(text)).toBeUndefined();
});

test('the list of clusters shows their replicas and machines, and problems come first', async () => {
  await twoReplicas();
  await cluster('c1', ['a.1', 'b.1']);
  await cluster('c2', ['a.2', 'pod-without-fleet']);
  await cluster('c3', ['a.3', '']);
  await cluster('c4', ['a.4', 'b.4']);
  await cluster('c9', ['a.9', 'b.9']);
  await client.resource(namespaces).create({ metadata: { name: 'other' } });
  await machineOf('c1', 'm1', 'Running');
  await machineOf('c4', 'm1', 'Running');
  await machineOf('c4', 'm2', 'Failed');
  const rows = async () =>
    (await clusterRows(client, { namespace: 'default', source: AWS, now: clock.now() })).map(
      ({ cluster, manager, controller, machines, running, problem }) =>
        `${cluster} ${manager} ${controller} ${running}/${machines} ${problem}`.trimEnd(),
    );
  expect(await rows()).toEqual([
    'c3 0 - 0/0 no process holds the Lease machine-controller',
    'c4 0 0 1/2 1 of 2 machines are not Running',
    'c9 0 0 0/0 machine-controller-manager of replica 0 cannot reach the API server',
    'c1 0 0 1/1',
    'c2 0 pod-without-fleet 0/0',
  ]);
  await client
    .resource(leases, 'c9')
    .patch('machine-controller-manager', { type: 'merge', body: { spec: { holderIdentity: 'pod' } } });
  expect((await rows()).at(-1)).toBe('c9 pod 0 0/0');
  const annotated = { metadata: { annotations: { 'mcm-fleet-handed-over': 'too large' } } };
  for (const name of ['c1', 'c3']) await client.resource(namespaces).patch(name, { type: 'merge', body: annotated });
  const given = 'the cluster needs a separate process, but no process holds the Lease machine-controller: too large';
  expect(await rows()).toContain(`c3 0 - 0/0 ${given}`);
  expect(await rows()).toContain('c1 0 0 1/1');
  expect(await handedOver(client)).toEqual([
    { cluster: 'c1', reason: 'too large' },
    { cluster: 'c3', reason: 'too large' },
  ]);
  await client.resource(namespaces).delete('c4');
  const deleted = 'the namespace is being deleted; machines left: 2';
  expect(await rows()).toContain(`c4 0 0 1/2 ${deleted}`);
  await client.resource(leases, 'c4').delete('machine-controller');
  expect(await rows()).toContain(`c4 0 - 1/2 ${deleted}; the Lease machine-controller does not exist`);
  await clock.advance(45_000);
  expect((await rows())[0]).toBe('c1 0 0 1/1 the Lease machine-controller-manager expired 30s ago');
});
