import { Annotations, type MachineClass } from '@mcm/api';
import { createClient, createMemoryLogger, type Node, type Pod, type Transport, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { at, hc, NOON, node } from '../../machine/testing.ts';
import { MACHINE_DEFAULTS } from '../../settings/settings.ts';
import { OrphanDrains } from './orphan-drains.ts';

const vm = { providerId: 'fake-a', machineName: 'a' };
const small = (annotations: Record<string, string> = {}) =>
  partial<MachineClass>({ metadata: { name: 'small', namespace: 'test', annotations } });
const never = new AbortController().signal;

const podOf = (name: string): Pod =>
  partial<Pod>({
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: at(-60),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 's', uid: 's', controller: true }],
    },
    spec: { nodeName: 'fakeNode-0', containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });

const withVolume = (name: string): Pod => {
  const pod = podOf(name);
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
  return { ...pod, spec: { ...pod.spec, volumes } } as Pod;
};

const terminating = (minutes: number) =>
  ({ type: 'Terminating', status: 'True', lastTransitionTime: at(minutes) }) as const;
const cordoned = (minutes: number): Node =>
  node({ spec: { unschedulable: true }, conditions: [...hc('True'), terminating(minutes)] });

interface World {
  readonly node?: Node;
  readonly pods?: readonly string[];
  readonly stale?: boolean;
  readonly policies?: boolean;
  readonly budgets?: readonly object[];
  readonly attachments?: readonly object[];
  readonly machines?: readonly object[];
  readonly doubt?: { readonly because: string; readonly until: Date };
  readonly refuse?: (request: string) => number | undefined;
}

function setUp({
  node: first = node(),
  pods = [],
  stale = false,
  policies = false,
  budgets = [],
  attachments = [],
  machines = [],
  doubt,
  refuse = () => undefined,
}: World = {}) {
  const clock = new VirtualClock({ start: NOON });
  const world = { node: first, pods: pods.map(podOf) };
  const asked: string[] = [];
  const bodies: string[] = [];
  const transport: Transport = ({ method, path, body }) => {
    const { pathname } = new URL(path, 'http://server');
    asked.push(`${method} ${pathname.replace(/^.*\/(nodes|namespaces\/default\/pods)\//, '')}`);
    bodies.push(String(body));
    const code = refuse(asked.at(-1) ?? '');
    if (code) return Promise.resolve(Response.json({ kind: 'Status', status: 'Failure', code }, { status: code }));
    const sent = typeof body === 'string' ? JSON.parse(body) : {};
    if (method === 'DELETE') world.pods = world.pods.filter(({ metadata }) => !pathname.endsWith(`/${metadata.name}`));
    if (method === 'PATCH' && !stale) {
      const { metadata, spec, status, ...rest } = world.node;
      const conditions = [...(status?.conditions ?? []), ...(sent.status?.conditions ?? [])];
      world.node = {
        ...rest,
        metadata: { ...metadata, ...sent.metadata },
        spec: { ...spec, ...sent.spec },
        status: { ...status, conditions },
      };
    }
    return Promise.resolve(Response.json(method === 'PATCH' ? world.node : { kind: 'Status', status: 'Success' }));
  };
  const log = createMemoryLogger();
  const records: Record<string, unknown>[] = [];
  const some = (objects: readonly object[]) => ({ store: { byIndex: () => objects, get: () => undefined } });
  const nodes = { store: { get: () => world.node, byIndex: () => [] }, recordWrite: () => undefined };
  const target = { nodes, pods: { proven: true, synced: true, store: { byIndex: () => world.pods } } };
  const claims = { store: { get: (key: string) => ({ spec: { volumeName: key.replace('default/', 'pv-') } }) } };
  const volumes = { store: { get: (name: string) => ({ spec: { csi: { volumeHandle: name } } }) } };
  const empty = { claims, volumes, attachments: some(attachments), budgets: some(budgets) };
  const drains = new OrphanDrains({
    caches: { machines: some(machines), target: { ...target, ...empty } },
    target: createClient({ transport, userAgent: 'test', clock }),
    invoker: { volumeIdOf: ({ csi }: { csi: { volumeHandle: string } }) => csi.volumeHandle },
    defaults: { ...MACHINE_DEFAULTS, undrainablePolicy: policies },
    doubt: () => doubt,
    clock,
    log,
    journal: { record: (entry: Record<string, unknown>) => ({ ended: () => records.push(entry) }) },
  } as never);
  const step = async (machineClass = small(), signal = never) => {
    asked.length = 0;
    const drained = await drains.step(vm, first, machineClass, signal);
    return [drained, ...asked];
  };
  const waits = () => log.lines.map(({ fields }) => fields?.waitsFor);
  return { asked, bodies, clock, world, drains, step, waits, log, records };
}

test('a Node is not cordoned if a Machine refers to the VM again', async () => {
  const { step, waits } = setUp({ machines: [{ spec: { providerID: vm.providerId } }] });
  expect(await step()).toEqual([false]);
  expect(waits()).toEqual(['a Machine refers to the VM again']);
});

test('a Node is not cordoned if a Machine records the ID that the cloud controller writes for the VM', async () => {
  const { drains, world, asked } = setUp({ machines: [{ spec: { providerID: 'aws:///eu-west-1a/i-1' } }] });
  const own = { providerId: 'aws:///eu-west-1/i-1', machineName: 'a' };
  expect(await drains.step(own, world.node, small(), never)).toBe(false);
  expect(asked).toEqual([]);
});

test('a Node is cordoned, its pods are evicted once, and it is drained when they have ended', async () => {
  const t = setUp({ pods: ['web'] });
  expect(await t.step()).toEqual([false, 'PATCH fakeNode-0/status', 'PATCH fakeNode-0', 'POST web/eviction']);
  expect(t.world.node.status?.conditions?.at(-1)).toMatchObject({ type: 'Terminating', reason: 'ScaleDown' });
  expect(await t.step()).toEqual([false]);
  t.world.pods = [];
  expect(await t.step()).toEqual([true]);
  expect(t.waits()).toEqual(['pods are terminating']);
  expect(t.log.lines[0]?.fields).toMatchObject({ providerId: 'fake-a', node: 'fakeNode-0' });
  expect(t.records).toMatchObject([
    {
      kind: 'drain',
      subject: { kind: 'Node', name: 'fakeNode-0' },
      at: NOON,
      input: { pods: [{ name: 'web' }] },
      decision: { evict: [{ name: 'web' }] },
      because: 'pods are terminating',
      actions: ['evict'],
    },
  ]);
});

test.each([
  ['only a cordon', node({ spec: { unschedulable: true } }), 'PATCH fakeNode-0/status'],
  ['only the reason', node({ conditions: [...hc('True'), terminating(0)] }), 'PATCH fakeNode-0'],
])('a Node with %s is cordoned completely before pods are evicted', async (_what, first, request) => {
  const t = setUp({ node: first, pods: ['web'] });
  expect(await t.step()).toEqual([false, request, 'POST web/eviction']);
});

test('the drain timeout starts with the cordon, so a new process deletes the remaining pods', async () => {
  const young = setUp({ node: cordoned(-119), pods: ['web'] });
  expect(await young.step()).toEqual([false, 'POST web/eviction']);
  const t = setUp({ node: cordoned(-120), pods: ['web'] });
  expect(await t.step()).toEqual([true, 'DELETE web']);
  expect(t.records).toMatchObject([{ actions: ['deletePods'] }]);
});

test('an unreachable Node forces the drain only if its state is not outdated', async () => {
  const unreachable = node({
    spec: { unschedulable: true },
    conditions: [...hc('Unknown', at(-10)), terminating(-10)],
  });
  const doubt = { because: 'an API server is unreachable', until: new Date(at(1)) };
  expect(await setUp({ node: unreachable, pods: ['web'], doubt }).step()).toEqual([false, 'POST web/eviction']);
  expect(await setUp({ node: unreachable, pods: ['web'] }).step()).toEqual([true, 'DELETE web']);
});

test.each<[policies: boolean, drained: boolean]>([
  [false, true],
  [true, false],
])('the undrainable policy of the class applies if policies are enabled: %s', async (policies, drained) => {
  const t = setUp({ node: cordoned(-120), pods: ['web'], policies });
  const held = small({ [Annotations.UndrainablePolicy]: 'Hold' });
  expect(await t.step(held)).toEqual(drained ? [true, 'DELETE web'] : [false, 'POST web/eviction']);
  if (!drained) expect(t.waits()[0]).toMatch(/^drain timeout expired before pod default\/web ended/);
});

test('a Node with the same name and another UID is not touched', async () => {
  const t = setUp({ pods: ['web'] });
  t.world.node = node({ metadata: { uid: 'other' } });
  expect([await t.step(), t.waits()]).toEqual([[false], ['the Node of the VM is unknown']]);
});

test('a step ends after four looks if the cache shows no cordon', async () => {
  const t = setUp({ pods: ['web'], stale: true });
  const writes = ['PATCH fakeNode-0/status', 'PATCH fakeNode-0'];
  expect(await t.step()).toEqual([false, ...writes, ...writes, ...writes, ...writes]);
  expect(t.waits()).toEqual(['mcm cordons the Node of the VM']);
});

test('the state of a drain is kept as long as its VM is an orphan', async () => {
  const t = setUp({ node: cordoned(0), pods: ['web'] });
  expect(await t.step()).toEqual([false, 'POST web/eviction']);
  t.drains.keepOnly('test/small', new Set(['fake-a']));
  t.drains.keepOnly('test/other', new Set());
  expect(await t.step()).toEqual([false]);
  t.drains.keepOnly('test/small', new Set(['fake-b']));
  expect(await t.step()).toEqual([false, 'POST web/eviction']);
});

test.each(['PATCH fakeNode-0', 'PATCH fakeNode-0/status'])('without %s no pod is evicted', async (request) => {
  const t = setUp({ pods: ['web'], refuse: (each) => (each === request ? 403 : undefined) });
  await expect(t.step()).rejects.toMatchObject({ code: 403 });
  expect(t.asked.filter((each) => each.startsWith('POST'))).toEqual([]);
});

test('the Node keeps its finalizers at the cordon, because its VM still runs', async () => {
  const finalizers = ['node.machine.sapcloud.io/machine-controller'];
  const t = setUp({ node: node({ metadata: { finalizers } }), pods: ['web'] });
  await t.step();
  expect(t.bodies.join()).not.toContain('finalizers');
});

test.each([
  ['a cordon', node()],
  ['an eviction', cordoned(0)],
])('a process that stops sends no request: %s', async (_what, first) => {
  const t = setUp({ node: first, pods: ['web'] });
  await expect(t.step(small(), AbortSignal.abort(new Error('stop')))).rejects.toThrow();
  expect(t.asked).toEqual([]);
});

test('a refused eviction is not repeated until the budget changes', async () => {
  const budget = {
    metadata: { name: 'web', namespace: 'default', uid: 'b', resourceVersion: '1', generation: 1 },
    spec: { selector: {} },
    status: { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
  };
  const refuse = (request: string) => (request.startsWith('POST') ? 429 : undefined);
  const t = setUp({ node: cordoned(0), pods: ['web'], budgets: [budget], refuse });
  expect(await t.step()).toEqual([false, 'POST web/eviction']);
  expect(await t.step()).toEqual([false]);
});

test('a volume of an empty Node is awaited at most for the detach timeout', async () => {
  const attachment = {
    metadata: { name: 'va', uid: 'uid-va', resourceVersion: '1' },
    spec: { nodeName: 'fakeNode-0', attacher: 'csi', source: { persistentVolumeName: 'pv' } },
    status: { attached: true },
  };
  const t = setUp({ node: cordoned(0), attachments: [attachment] });
  expect(await t.step()).toEqual([false]);
  await t.clock.advance(119_000);
  expect(await t.step()).toEqual([false]);
  await t.clock.advance(1_000);
  expect(await t.step()).toEqual([true]);
});

test('pods with volumes are evicted one after the other', async () => {
  const attached = (...names: readonly string[]): Node =>
    node({
      spec: { unschedulable: true },
      conditions: [...hc('True'), terminating(0)],
      status: { volumesAttached: names.map((name) => ({ name: `csi^pv-${name}`, devicePath: '' })) },
    });
  const t = setUp({ node: attached('a', 'b') });
  t.world.pods = ['a', 'b'].map(withVolume);
  expect(await t.step()).toEqual([false, 'POST a/eviction']);
  t.world.pods = [withVolume('b')];
  t.world.node = attached('b');
  expect(await t.step()).toEqual([false]);
  await t.clock.advance(90_000);
  expect(await t.step()).toEqual([false, 'POST b/eviction']);
});
