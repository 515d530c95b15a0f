import { Annotations, crds, formatTime, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
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
  client = createClient({ transport: plane.transport, userAgent: 'test', clock });
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
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    disruptionsAllowed: 0,
  };
  await api.patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
}

async function seenBy(...resources: string[]): Promise<MachineTarget> {
  const rbac = (kind: string, plural: string) =>
    client.resource<KubeObject & Record<string, unknown>>({
      group: 'rbac.authorization.k8s.io',
      version: 'v1',
      namespaced: false,
      kind,
      plural,
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

test('a Running machine has no wait', async () => {
  await node();
  await machine({ status: running });
  const text = await explain();
  expect(text).toMatch(
    /^machine m-0\n {2}phase {2}Running\n {2}VM {5}local:\/\/\/z\/i-1\n {2}node {3}m-0, Ready is True/,
  );
  expect(text).toContain('It is Running. No action is pending.');
});

test('an unknown machine without evidence is a user error', async () => {
  await expect(explainMachine(target)).rejects.toThrow(
    'there is no machine m-0 in namespace default; the namespace has no machine',
  );
});

test('a machine whose Node has a readiness taint shows the taint and how long it waits', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  const lastTransitionTime = new Date(clock.now().getTime() - 90_000).toISOString().replace('.000', '');
  await node([{ type: 'Ready', status: 'True', lastTransitionTime }]);
  const taints = [{ key: 'readiness.k8s.io/network', effect: 'NoSchedule' as const }];
  await client.resource(nodes).patch('m-0', { type: 'merge', body: { spec: { taints } } });
  const text = await explain();
  expect(text).toContain(
    'machine m-0 (Pending): the node is Ready and has the taint readiness.k8s.io/network; in 20m0s the machine may be Failed',
  );
  expect(text).toContain(
    'Hint: check the node readiness controller and its rules: the node readiness controller removes the taint readiness.k8s.io/network',
  );
  const key = 'node.gardener.cloud/critical-components-not-ready';
  const critical = [{ key, effect: 'NoSchedule' as const }];
  await client.resource(nodes).patch('m-0', { type: 'merge', body: { spec: { taints: critical } } });
  const second = await explain();
  expect(second).toContain(`(Pending): the node is Ready and has the taint ${key}`);
  expect(second).toContain('kubectl get pods -A --field-selector spec.nodeName=m-0');
  expect(text).toMatch(/^ {2}ReadinessTaintsRemoved +False +readiness\.k8s\.io\/network, since \S+Z \(1m30s\)$/m);
});

test('a machine that never joined shows its phase, its deadline and the missing class', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  await client.resource(machineClasses, NS).delete('small');
  const text = await explain();
  expect(text).toContain('m-0, the Node does not exist in the cluster');
  expect(text).toContain('MachineClass does not exist');
  expect(text).toMatch(/^Progress:$/m);
  expect(text).toMatch(/^ {2}NodeRegistered +False +NoNode/m);
  expect(text).toMatch(/^ {2}NodeReady +Unknown +NotBegun$/m);
  expect(text).toMatch(
    /machine m-0 \(Pending\): the VM exists, and the node has not joined yet.*; in 20m0s the machine may be Failed$/m,
  );
  expect(text).toMatch(/^Hint: check the console of the VM and the user data of MachineClass small/m);
});

test('deadlines use the flags in the Lease of the machine controller; otherwise a remark says that they are assumed', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  expect(await explain()).toContain(
    'Flags:\n  - assuming the default flags of the machine controller: Lease default/machine-controller does not exist',
  );
  const settings = { 'machine-creation-timeout': 300_000, 'node-conditions': 'odd', 'drain-volume-window': 2 };
  const annotations = { 'holder-settings': `me ${JSON.stringify(settings)}` };
  const metadata = { name: 'machine-controller', namespace: NS, annotations };
  await client.resource(leases, NS).create({ metadata, spec: { holderIdentity: 'me' } } as never);
  const reported = await explainMachine(target);
  expect(reported).toMatchObject({
    machine: 'm-0',
    phase: 'Pending',
    since: '2026-01-01T00:00:00Z',
    waitsFor: { deadline: { at: new Date('2026-01-01T00:05:00Z') } },
    remarks: ['of the machine controller: --machine-creation-timeout is 5m0s, not 20m0s'],
  });
});

test.each<[policy: string, parts: Parts, says: RegExp, never: RegExp]>([
  ['Force', {}, /in 1h0m0s mcm forces the drain/, /cordoned until|nothing is forced/],
  [
    'Quarantine',
    { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Quarantine' } },
    /in 1h0m0s evictions stop, and the node stays cordoned/,
    /forces the drain|without a grace period/,
  ],
  [
    'Hold',
    { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' } },
    /in 1h0m0s evictions continue without a time limit/,
    /mcm forces the drain|without a grace period/,
  ],
])(
  'a deletion with a blocked drain shows the pod, the budget and the result of policy %s',
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
    expect(text).toMatch(/machine m-0 \(Terminating\): the drain is blocked; details are below; /);
    expect(text).toMatch(/default\/web-1 +is blocked.*budget default\/web/);
    expect(text).toContain('blocked by:');
    expect(text.match(/misconfigured/g)).toHaveLength(1);
    expect(text).toContain(
      'to force the drain now and delete the pods: kubectl label machine m-0 -n default force-deletion=true',
    );
    expect(text).toMatch(says);
    expect(text).not.toMatch(never);
  },
);

test('the policy of the class applies to the machine', async () => {
  const metadata = { annotations: { 'node.machine.sapcloud.io/undrainable-policy': 'Hold' } };
  await client.resource(machineClasses, NS).patch('small', { type: 'merge', body: { metadata } });
  await node();
  await machine({ status: running });
  await client.resource(machines, NS).delete('m-0');
  expect(await explain()).not.toContain('mcm forces the drain');
});

test('mcm drain --preview shows the steps of a drain and changes nothing', async () => {
  await node();
  await pod('web-1', { app: 'web' });
  await pod('other-1', { app: 'other' });
  await blockingBudget();
  await machine({ status: running });
  const text = (await preview()).join('\n');
  expect(text).toMatch(/^pods of node m-0, in the order of their eviction:/);
  expect(text).toMatch(/default\/other-1 +mcm evicts the pod now/);
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
  ['persistentvolumes', 'pods of node m-0, in the order of their eviction:'],
  ['poddisruptionbudgets', 'pods of node m-0, in the order of their eviction:'],
])('mcm drain --preview without access to %s shows the rest', async (refused, known) => {
  await node();
  await pod('web-1', { app: 'web' });
  await machine({ status: running });
  target = await seenBy(...OF_DRAINS.filter((resource) => resource !== refused));
  const lines = await preview();
  expect(lines[0]).toBe(known);
  expect(lines.slice(-3)).toEqual([
    'No permission to read:',
    expect.stringContaining(`User "reader" cannot list resource "${refused}"`),
    '  (grant the roles mcm-read, see docs/permissions.md, "The mcm command")',
  ]);
});

test('a user with partial access gets the rest and the missing permissions', async () => {
  await node();
  await machine({ status: running });
  await client.resource(machines, NS).delete('m-0');
  target = await seenBy('nodes', 'events');
  const half = await explain();
  expect(half).toContain('  node   m-0, Ready is True');
  expect(half).toMatch(/^No permission to read:\n {2}- .*cannot list resource "configmaps"/m);
  expect(half).toMatch(/^ {2}- .*cannot list resource "(pods|p\w+|volumeattachments)"/m);
  expect(half).not.toContain('pods of node');
});

test('a Node that the user cannot read is only reported as unreadable', async () => {
  await machine({ status: { currentStatus: { phase: 'Pending' } } });
  target = await seenBy('configmaps', 'events');
  const text = await explain();
  expect(text).toContain('  node   m-0, the state of the node is unknown: no permission to read the node');
  expect(text).not.toContain('Progress:');
  expect(text).toMatch(/^No permission to read:\n {2}- .*cannot get resource "nodes".*$(?!\n {2}-)/m);
});

test('mcm drain --preview reports a machine without a node', async () => {
  await machine({ status: running });
  expect(await preview()).toEqual(['machine m-0 has no node, so mcm deletes the machine without a drain']);
});

test('a deleted machine that failed shows its evidence, with the last lines of its console', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  await client.resource(configMaps, NS).create({
    metadata: {
      name: 'evidence-m-0-1',
      namespace: NS,
      // The machine controller sets the label with a hash of the name.
      labels: { 'evidence.machine.sapcloud.io/machine': 'a2526bc2efa31901' },
    },
    data: {
      machine: 'm-0',
      failedAt: '2026-01-01T00:20:00.000Z',
      failure: 'Machine m-0 failed to join the cluster in 20m0s minutes.',
      conditions: 'no conditions, because no node has joined',
      cloud: 'instance i-1 is running',
      console: `${lines}\n`,
    },
  });
  const text = await explain();
  expect(text).toMatch(
    /^machine m-0 no longer exists\n\nThe machine failed at 2026-01-01T00:20:00\.000Z: Machine m-0 failed to join/,
  );
  expect(text).toContain('  cloud       instance i-1 is running');
  expect(text).toContain('    line 39');
  expect(text).not.toContain('line 24\n');
  expect(text).toContain('kubectl get configmap evidence-m-0-1 -n default -o yaml');
});

test('a VM whose deletion the cloud refuses shows hints and no drain', async () => {
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
  expect(text).not.toContain('mcm forces the drain');
  expect(text).toContain('Hint: correct the credentials in the Secret of MachineClass small');
  expect(text).toMatch(/^Kind of failure: /m);
});

test('refused credentials are a failure of the user, although their code is Internal', async () => {
  await node();
  const description =
    'VM deletion failed due to - machine codes error: code = [Internal] message = [denied; correct the credentials in Secret default/aws (data.key), or the permissions of the account]. Aborting operation. Initiate VM deletion';
  await machine({
    status: { lastOperation: { description, state: 'Failed', type: 'Delete' } },
  });
  await client.resource(machines, NS).patch('m-0', { type: 'merge', body: { spec: { providerID: null } } });
  await client.resource(machines, NS).delete('m-0');
  const text = await explain();
  expect(text).toContain('Kind of failure: credentials. Responsible for the fix: the user');
  expect(text).toContain(
    'Hint: mcm retries the call automatically, about every 10m0s, and immediately after a change of the class or Secret',
  );
  expect(text).toContain('  VM     not recorded');
});

test('the conditions of a node at the end of a text are removed', async () => {
  await node();
  const description =
    'Machine m-0 is unhealthy - changing MachinePhase to Unknown. Node conditions: [{Type:Ready Status:Unknown}]';
  await machine({
    status: { currentStatus: { phase: 'Unknown' }, lastOperation: { description, state: 'Processing' } },
  });
  const text = await explain();
  expect(text).toMatch(/^machine m-0 \(Unknown\): the machine is unhealthy$/m);
  expect(text).not.toContain('{Type:');
});

test('an unhealthy node shows its bad conditions, even if Ready is True', async () => {
  await node([
    { type: 'Ready', status: 'True' },
    { type: 'MemoryPressure', status: 'True' },
    { type: 'KernelDeadlock', status: 'True', reason: 'TaskHung', message: 'task docker:123 blocked' },
  ]);
  await machine({ status: { currentStatus: { phase: 'Unknown' } } });
  expect(await explain()).toMatch(/ node {3}m-0, KernelDeadlock is True \(TaskHung: task docker:123 blocked\)$/m);
});

test('a preserved Failed machine shows the expiry and how to end the preservation', async () => {
  await node();
  const preserveExpiryTime = '2026-01-05T00:00:00Z';
  await machine({ status: { currentStatus: { phase: 'Failed', preserveExpiryTime } } });
  const text = await explain();
  expect(text).toMatch(/; in 96h0m0s the preservation ends, and the machine may be deleted$/m);
  expect(text).toContain('kubectl annotate machine m-0 -n default node.machine.sapcloud.io/preserve-');
});

test('a Failed machine without a set is reported as not replaced', async () => {
  await node();
  await machine({ status: { currentStatus: { phase: 'Failed' } } });
  expect(await explain()).toContain(
    'no MachineSet owns the machine, so no controller replaces the machine: kubectl delete machine m-0 -n default',
  );
});

test('requests without effect are shown as long as they exist, longer than events', async () => {
  await node();
  const annotations = {
    'node.machine.sapcloud.io/preserve': 'yes please',
    'machinepriority.machine.sapcloud.io': 'high',
  };
  await machine({ annotations, status: running });
  const text = await explain();
  expect(text).toContain('phase  Running\n');
  expect(text).toContain('User requests that have no effect:');
  expect(text).toContain('metadata.annotations[node.machine.sapcloud.io/preserve]: "yes please" is ignored');
  expect(text).toContain('"high" is not an integer, so mcm uses 3');
});

test('the code of a refusal is printed once', async () => {
  const description = 'Cloud provider message - machine codes error: code = [Internal] message = [no image]';
  const lastOperation = { description, errorCode: 'Internal', state: 'Failed', type: 'Create' };
  await machine({ status: { currentStatus: { phase: 'CrashLoopBackOff' }, lastOperation } });
  expect(await explain()).toMatch(/\(CrashLoopBackOff\): Internal: no image; in 20m0s the machine may be Failed$/m);
});

test('a machine in a setup without nodes is Available, and no node is read', async () => {
  await machine({ status: { currentStatus: { phase: 'Available' } } });
  await client.resource(machines, NS).patch('m-0', { type: 'merge', body: { metadata: { labels: { node: null } } } });
  const text = await explain();
  expect(text).toContain('  phase  Available\n');
  expect(text).toContain(
    '  node   no node, because the machine controller runs without a target cluster (--target-kubeconfig=none)',
  );
  expect(text).toContain('It is Available. No action is pending.');
});

test('explain shows the owner and the age of a hook, and the command that ends the hook', async () => {
  const annotations = {
    [Annotations.Hooks]: 'before-drain backup backup-operator 30m Continue; before-delete audit auditor 1h Block',
    [Annotations.HooksBegun]: `before-drain=${formatTime(clock.now())}`,
    'before-drain.hook.machine.sapcloud.io/backup': 'backup-operator',
  };
  await machine({ annotations, status: { currentStatus: { phase: 'Terminating' } } });
  await client.resource<Machine>(machines, NS).delete('m-0');
  await clock.advance(120_000);
  const lines = machineLines(await explainMachine(target), clock.now());
  expect(lines.slice(lines.indexOf('Hooks that have not finished:'))).toEqual(
    expect.arrayContaining([
      '  - before-drain backup of backup-operator, for 2m0s, timeout 30m0s, after the timeout, the machine continues with the next step. To end the hook: kubectl annotate machine m-0 before-drain.hook.machine.sapcloud.io/backup-',
    ]),
  );
  expect(lines.join('\n')).not.toContain('audit of');
});

test('the reasons in the status of a machine are printed', async () => {
  const since = formatTime(clock.now());
  const blockedBy = [{ cause: 'Hook', object: { kind: 'Hook', name: 'before-drain/backup' }, reason: 'waits', since }];
  await machine({ status: { currentStatus: { phase: 'Running' }, blockedBy } });
  await node();
  const lines = machineLines(await explainMachine(target), clock.now());
  expect(lines[lines.indexOf('Blocked by:') + 1]).toBe('  - Hook by Hook before-drain/backup, for 0s: waits');
});
