import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  configMaps,
  createClient,
  handlerTransport,
  type KubeClient,
  type KubeObject,
  leases,
  nodes,
  podDisruptionBudgets,
  pods,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainMachine, type MachineTarget, previewMachineDrain } from './machine.ts';
import { machineLines, previewLines } from './machine-lines.ts';

let plane: ControlPlane;
let client: KubeClient;
let close: () => Promise<void>;
let target: MachineTarget;
const clock = new VirtualClock();
const NS = 'default';

beforeEach(async () => {
  plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock });
  const signal = new AbortController().signal;
  target = { client, target: client, namespace: NS, name: 'm-0', clock, random: seededRandom(1), signal };
  await client.resource<MachineClass>(machineClasses, NS).create({
    metadata: { name: 'small', namespace: NS },
    providerSpec: {},
    secretRef: { name: 'small', namespace: NS },
  } as never);
});
afterEach(() => close());

interface Parts {
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly status?: object;
}

async function machine({ annotations = {}, labels = {}, status }: Parts = {}): Promise<void> {
  const api = client.resource<Machine>(machines, NS);
  await api.create({
    metadata: {
      name: 'm-0',
      namespace: NS,
      finalizers: ['machine.sapcloud.io/machine-controller-manager'],
      labels: { node: 'm-0', ...labels },
      annotations,
    },
    spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'local:///z/i-1', drainTimeout: '1h' },
  });
  if (status) await api.patch('m-0', { type: 'merge', body: { status } }, { subresource: 'status' });
}

async function node(conditions: readonly object[] = [{ type: 'Ready', status: 'True' }]): Promise<void> {
  const api = client.resource(nodes);
  await api.create({ metadata: { name: 'm-0' }, spec: { providerID: 'local:///z/i-1' } });
  const body = { status: { conditions } };
  await api.patch('m-0', { type: 'merge', body }, { subresource: 'status' });
}

async function pod(name: string, labels: Record<string, string>): Promise<void> {
  const api = client.resource(pods, NS);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true };
  await api.create({
    metadata: { name, namespace: NS, labels, ownerReferences: [owner] },
    spec: { nodeName: 'm-0', containers: [{ name: 'main', image: 'pause' }] },
  });
  const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await api.patch(name, { type: 'merge', body }, { subresource: 'status' });
}

async function blockingBudget(): Promise<void> {
  const api = client.resource(podDisruptionBudgets, NS);
  const spec = { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } };
  const { metadata } = await api.create({ metadata: { name: 'web', namespace: NS }, spec } as never);
  const status = {
    observedGeneration: metadata.generation ?? 1,
    ...{ currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0 },
  };
  await api.patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
}

/** The target as somebody sees it who may read these, next to all that is of machines. */
async function seenBy(...resources: string[]): Promise<MachineTarget> {
  const rbac = (kind: string, plural: string) =>
    client.resource<KubeObject & Record<string, unknown>>({
      ...{ group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false },
      ...{ kind, plural },
    });
  const metadata = { name: 'reader' };
  const verbs = ['get', 'list', 'watch'];
  const rules = [
    { apiGroups: ['machine.sapcloud.io', 'coordination.k8s.io'], resources: ['*'], verbs },
    { apiGroups: ['', 'policy', 'storage.k8s.io'], resources, verbs },
  ];
  await rbac('ClusterRole', 'clusterroles').create({ metadata, rules } as never);
  const apiGroup = 'rbac.authorization.k8s.io';
  await rbac('ClusterRoleBinding', 'clusterrolebindings').create({
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ apiGroup, kind: 'User', name: 'reader' }],
  } as never);
  const transport = handlerTransport((request) => {
    request.headers.set('impersonate-user', 'reader');
    return plane.fetch(request);
  });
  const reader = createClient({ transport, userAgent: 'test', clock });
  return { ...target, client: reader, target: reader };
}

const running = { currentStatus: { phase: 'Running' } };
const explain = async (): Promise<string> => machineLines(await explainMachine(target), clock.now()).join('\n');
const preview = async (): Promise<string[]> => previewLines(await previewMachineDrain(target), clock.now());

test('a machine that runs waits for nothing', async () => {
  await node();
  await machine({ status: running });
  const text = await explain();
  expect(text).toMatch(
    /^machine m-0\n {2}phase {2}Running\n {2}VM {5}local:\/\/\/z\/i-1\n {2}node {3}m-0, Ready is True/,
  );
  expect(text).toContain('It is Running and waits for nothing.');
});

test('one that is not there, and of which nothing was kept, is a mistake of the user', async () => {
  await expect(explainMachine(target)).rejects.toThrow(
    'there is no machine m-0 in namespace default; there is none in it',
  );
});

test('one that was never joined names its phase, its deadline and the class that is missing', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  await client.resource(machineClasses, NS).delete('small');
  const text = await explain();
  expect(text).toContain('m-0, which is not there');
  expect(text).toContain('there is no such MachineClass');
  expect(text).toMatch(/^Its birth:$/m);
  expect(text).toMatch(/^ {2}NodeRegistered +False +NoNode/m);
  expect(text).toMatch(/^ {2}NodeReady +Unknown +NotBegun$/m);
  expect(text).toMatch(
    /machine m-0 \(Pending\): its VM is there; it waits for the node to join.*; in 20m0s it may be Failed$/m,
  );
  expect(text).toMatch(/^What would help: look at the console of the VM and at the user data of MachineClass small/m);
});

test('deadlines are by the flags that the machine controller tells with its Lease; else it is said that they are guesses', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  expect(await explain()).toContain(
    'Flags:\n  - the machine controller runs with its default flags: there is no Lease default/machine-controller',
  );
  const settings = { 'machine-creation-timeout': 300_000, 'node-conditions': 'odd', 'drain-volume-window': 2 };
  const annotations = { 'holder-settings': `me ${JSON.stringify(settings)}` };
  const metadata = { name: 'machine-controller', namespace: NS, annotations };
  await client.resource(leases, NS).create({ metadata, spec: { holderIdentity: 'me' } } as never);
  const told = await explainMachine(target);
  expect(told).toMatchObject({
    machine: 'm-0',
    phase: 'Pending',
    since: '2026-01-01T00:00:00Z',
    waitsFor: { deadline: { at: new Date('2026-01-01T00:05:00Z') } },
    remarks: ['of the machine controller: --machine-creation-timeout is 5m0s, not 20m0s'],
  });
});

test.each<[policy: string, parts: Parts, says: RegExp, never: RegExp]>([
  ['Force', {}, /in 1h0m0s its drain is forced/, /cordoned until|nothing is forced/],
  [
    'Quarantine',
    { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Quarantine' } },
    /in 1h0m0s evicting ends, and it stays cordoned/,
    /is forced|without grace/,
  ],
  [
    'Hold',
    { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' } },
    /in 1h0m0s nothing is forced: evicting goes on/,
    /its drain is forced|without grace/,
  ],
])(
  'a deletion whose drain is blocked names pod and budget, and what the policy %s lets happen',
  async (_policy, parts, says, never) => {
    await node();
    await pod('web-1', { app: 'web' });
    await blockingBudget();
    const description =
      'Drain failed due to - error while evicting pod "default/web-1": pod disruption budget default/web is misconfigured and requires zero voluntary evictions. Will retry in next sync. Initiate node drain';
    await machine({
      ...parts,
      status: { ...running, lastOperation: { description, state: 'Failed', type: 'Delete' } },
    });
    await client.resource(machines, NS).delete('m-0');
    const text = await explain();
    expect(text).toMatch(/machine m-0 \(Terminating\): its drain is blocked, see below; /);
    expect(text).toMatch(/default\/web-1 +is blocked.*budget default\/web/);
    expect(text).toContain('blocked by:');
    expect(text.match(/misconfigured/g)).toHaveLength(1);
    expect(text).toContain(
      'to force it now, whatever becomes of its pods: kubectl label machine m-0 -n default force-deletion=true',
    );
    expect(text).toMatch(says);
    expect(text).not.toMatch(never);
  },
);

test('the policy of the class counts for the machine', async () => {
  const metadata = { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' } };
  await client.resource(machineClasses, NS).patch('small', { type: 'merge', body: { metadata } });
  await node();
  await machine({ status: running });
  await client.resource(machines, NS).delete('m-0');
  expect(await explain()).not.toContain('its drain is forced');
});

test('mcm drain --preview: what a drain would do, without doing it', async () => {
  await node();
  await pod('web-1', { app: 'web' });
  await pod('other-1', { app: 'other' });
  await blockingBudget();
  await machine({ status: running });
  const text = (await preview()).join('\n');
  expect(text).toMatch(/^pods of node m-0, in the order in which they go:/);
  expect(text).toMatch(/default\/other-1 +is evicted now/);
  expect(text).toMatch(/default\/web-1 +is blocked/);
  const left = (await client.resource(pods, NS).list()).items.map(({ metadata }) => metadata.deletionTimestamp);
  expect(left).toEqual([undefined, undefined]);
  expect((await client.resource(nodes).get('m-0')).spec.unschedulable).toBeUndefined();
});

const OF_DRAINS = [
  ...['nodes', 'pods', 'persistentvolumeclaims', 'persistentvolumes'],
  ...['volumeattachments', 'poddisruptionbudgets'],
];

test.each([
  ['nodes', 'machine m-0 has node m-0'],
  ['pods', 'machine m-0 has node m-0'],
  ['persistentvolumes', 'pods of node m-0, in the order in which they go:'],
  ['poddisruptionbudgets', 'pods of node m-0, in the order in which they go:'],
])('mcm drain --preview for one who may not list %s tells what it can', async (refused, known) => {
  await node();
  await pod('web-1', { app: 'web' });
  await machine({ status: running });
  target = await seenBy(...OF_DRAINS.filter((resource) => resource !== refused));
  const lines = await preview();
  expect(lines[0]).toBe(known);
  expect(lines.slice(-3)).toEqual([
    'May not be read:',
    expect.stringContaining(`User "reader" cannot list resource "${refused}"`),
    '  (roles mcm-read of docs/permissions.md, "The mcm command", allow it)',
  ]);
});

test('who may not read all of it is told the rest, and what is missing', async () => {
  await node();
  await machine({ status: running });
  await client.resource(machines, NS).delete('m-0');
  target = await seenBy('nodes', 'events');
  const half = await explain();
  expect(half).toContain('  node   m-0, Ready is True');
  expect(half).toMatch(/^May not be read:\n {2}- .*cannot list resource "configmaps"/m);
  expect(half).toMatch(/^ {2}- .*cannot list resource "(pods|p\w+|volumeattachments)"/m);
  expect(half).not.toContain('pods of node');
});

test('of a Node that may not be read nothing is said but that', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  target = await seenBy('configmaps', 'events');
  const text = await explain();
  expect(text).toContain('  node   m-0, which may not be read');
  expect(text).not.toContain('Its birth:');
  expect(text).toMatch(/^May not be read:\n {2}- .*cannot get resource "nodes".*$(?!\n {2}-)/m);
});

test('mcm drain --preview of a machine without a node says so', async () => {
  await machine({ status: running });
  expect(await preview()).toEqual(['machine m-0 has no node: there is nothing to drain']);
});

test('a machine that failed and is gone: what was kept of it, its console by its last lines', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  await client.resource(configMaps, NS).create({
    metadata: {
      name: 'evidence-m-0-1',
      namespace: NS,
      // As the machine controller labels it: a hash of the name.
      labels: { 'evidence.machine.sapcloud.io/machine': 'a2526bc2efa31901' },
    },
    data: {
      machine: 'm-0',
      failedAt: '2026-01-01T00:20:00.000Z',
      failure: 'Machine m-0 failed to join the cluster in 20m0s minutes.',
      conditions: 'none: no node has joined',
      cloud: 'instance i-1 is running',
      console: `${lines}\n`,
    },
  });
  const text = await explain();
  expect(text).toMatch(/^machine m-0 is gone\n\nIt failed at 2026-01-01T00:20:00\.000Z: Machine m-0 failed to join/);
  expect(text).toContain('  cloud       instance i-1 is running');
  expect(text).toContain('    line 39');
  expect(text).not.toContain('line 24\n');
  expect(text).toContain('kubectl get configmap evidence-m-0-1 -n default -o yaml');
});

test('a VM whose deletion the cloud refuses: no word of drains, but what would help', async () => {
  await node();
  const description =
    'VM deletion failed due to - machine codes error: code = [Unauthenticated] message = [no]. Aborting operation. Initiate VM deletion';
  await machine({
    status: {
      currentStatus: { phase: 'Terminating' },
      lastOperation: { description, state: 'Failed', type: 'Delete' },
    },
  });
  await client.resource(machines, NS).delete('m-0');
  const text = await explain();
  expect(text).not.toContain('its drain is forced');
  expect(text).toContain('What would help: mend the credentials in the Secret of MachineClass small');
  expect(text).toMatch(/^Kind of failure: /m);
});

test('the conditions of a node at the end of a text are left to kubectl', async () => {
  await node();
  const description =
    'Machine m-0 is unhealthy - changing MachinePhase to Unknown. Node conditions: [{Type:Ready Status:Unknown}]';
  await machine({
    status: { currentStatus: { phase: 'Unknown' }, lastOperation: { description, state: 'Processing' } },
  });
  const text = await explain();
  expect(text).toMatch(/^machine m-0 \(Unknown\): it is unhealthy$/m);
  expect(text).not.toContain('{Type:');
});

test('a node that is not well: which of its conditions say so, also beside a Ready that is True', async () => {
  await node([
    { type: 'Ready', status: 'True' },
    { type: 'MemoryPressure', status: 'True' },
    { type: 'KernelDeadlock', status: 'True', reason: 'TaskHung', message: 'task docker:123 blocked' },
  ]);
  await machine({ status: { currentStatus: { phase: 'Unknown' } } });
  expect(await explain()).toMatch(/ node {3}m-0, KernelDeadlock is True \(TaskHung: task docker:123 blocked\)$/m);
});

test('a Failed machine that is kept says until when, and how to end that', async () => {
  await node();
  const preserveExpiryTime = '2026-01-05T00:00:00Z';
  await machine({ status: { currentStatus: { phase: 'Failed', preserveExpiryTime } } });
  const text = await explain();
  expect(text).toMatch(/; in 96h0m0s its preservation ends, and it may be deleted$/m);
  expect(text).toContain('kubectl annotate machine m-0 -n default node.machine.sapcloud.io/preserve-');
});

test('a Failed machine that no set owns says that nobody replaces it', async () => {
  await node();
  await machine({ status: { currentStatus: { phase: 'Failed' } } });
  expect(await explain()).toContain(
    'no MachineSet owns it, so nobody replaces it: kubectl delete machine m-0 -n default',
  );
});

test('what it asks for in vain is told as long as it asks: events are gone after an hour', async () => {
  await node();
  const annotations = {
    'node.machine.sapcloud.io/preserve': 'yes please',
    'machinepriority.machine.sapcloud.io': 'high',
  };
  await machine({ annotations, status: running });
  const text = await explain();
  expect(text).toContain('phase  Running\n');
  expect(text).toContain('Asked for in vain:');
  expect(text).toContain('metadata.annotations[node.machine.sapcloud.io/preserve]: "yes please" does not count');
  expect(text).toContain('"high" is no integer and counts as 3');
});

test('the code of a refusal is told once', async () => {
  const description = 'Cloud provider message - machine codes error: code = [Internal] message = [no image]';
  const lastOperation = { description, errorCode: 'Internal', state: 'Failed', type: 'Create' };
  await machine({ status: { currentStatus: { phase: 'CrashLoopBackOff' }, lastOperation } });
  expect(await explain()).toMatch(/\(CrashLoopBackOff\): Internal: no image; in 20m0s it may be Failed$/m);
});

test('a machine without nodes is Available, and nobody looks for its node', async () => {
  await machine({ status: { currentStatus: { phase: 'Available' } } });
  await client.resource(machines, NS).patch('m-0', { type: 'merge', body: { metadata: { labels: { node: null } } } });
  const text = await explain();
  expect(text).toContain('  phase  Available\n');
  expect(text).toContain('  node   none: its machine controller runs with --target-kubeconfig=none');
  expect(text).toContain('It is Available and waits for nothing.');
});
