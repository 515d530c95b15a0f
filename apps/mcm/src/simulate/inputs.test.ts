import type { Machine, MachineClass } from '@mcm/api';
import { Reporter } from '@mcm/conformance/fleet';
import { type DriverDefinition, MACHINE_DEFAULTS, type MachineRequest } from '@mcm/core';
import { type Informer, type Node, type Pod, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { percentile } from './figures.ts';
import { inputsOf, verifyProvider } from './inputs.ts';
import { controllerSettings } from './settings.ts';
import { VmRules } from './vm-rules.ts';

type Objects = Parameters<typeof inputsOf>[0];

const deployment = (namespace?: string) => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineDeployment',
  metadata: { name: 'workers', namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { pool: 'workers' } },
    template: {
      metadata: { labels: { pool: 'workers' } },
      spec: { class: { kind: 'MachineClass', name: 'small' } },
    },
  },
});
const small = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'small' },
  provider: 'toy',
};

test.each<[what: string, objects: readonly object[], message: RegExp]>([
  ['no deployment', [small], /^x contains no MachineDeployment to simulate$/],
  ['no class', [deployment()], /^machinedeployment workers needs MachineClass small, which is not in x$/],
  ['two namespaces', [deployment('a'), { ...small, metadata: { name: 'small', namespace: 'b' } }], /namespaces a, b/],
])('files with %s are refused', (_what, objects, message) => {
  expect(() => inputsOf(objects as Objects, 'x')).toThrow(message);
});

test('a class of another provider is refused, and Secrets are ignored', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credentials' } };
  const { classes, others } = inputsOf([deployment(), small, secret] as unknown as Objects, 'x');
  expect(others).toEqual([]);
  expect(() => verifyProvider(classes, 'toy')).not.toThrow();
  expect(() => verifyProvider(classes, 'local')).toThrow(
    'machineclass small has the provider toy, but the driver is local',
  );
});

test('in files without a namespace, a reference to a Secret refers to the namespace of the simulation', () => {
  const secretRef = { name: 'credentials', namespace: 'machines' };
  const classesOf = (metadata: object) =>
    inputsOf([deployment(), { ...small, metadata, secretRef }] as unknown as Objects, 'x').classes;
  expect(classesOf({ name: 'small' })).toMatchObject([{ secretRef: { name: 'credentials', namespace: 'default' } }]);
  expect(classesOf({ name: 'small', namespace: 'default' })).toMatchObject([{ secretRef }]);
});

test('objects from a cluster are read like manifests', () => {
  const ofServer = {
    uid: 'u',
    resourceVersion: '7',
    generation: 3,
    creationTimestamp: '2026-01-01T00:00:00Z',
    managedFields: [],
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'o' }],
  };
  const stored = (object: { readonly metadata: object }) => ({
    ...object,
    metadata: { ...object.metadata, ...ofServer },
    status: { replicas: 1 },
  });
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web' }, spec: {} };
  const objects = [deployment(), small, budget];
  const { others, ...ours } = inputsOf(objects.map(stored) as unknown as Objects, 'x');
  const { others: asWritten, ...written } = inputsOf(objects as unknown as Objects, 'x');
  expect(ours).toEqual(written);
  const { ownerReferences } = ofServer;
  expect(others).toEqual(asWritten.map((one) => ({ ...one, metadata: { ...one.metadata, ownerReferences } })));
});

describe('--flags', () => {
  test('a flag applies to each program that has the flag', async () => {
    const { manager, machines, interruptions } = await controllerSettings([
      '--interruptions --safety-up=5',
      '--machine-health-timeout 7m --max-unhealthy-replacements=2',
    ]);
    expect(interruptions).toBe(true);
    expect(manager).toMatchObject({ safetyUp: 5, maxUnhealthyReplacements: 2 });
    expect(machines.defaults).toMatchObject({ healthTimeoutMs: 420_000, maxUnhealthyReplacements: 2 });
  });

  test.each([
    ['--no-such-flag', /neither the manager nor the machine controller has a flag --no-such-flag/],
    ['--webhook-port=1', /--webhook-port has no effect in a simulation/],
    ['interruptions', /must contain flags such as/],
    ['--machine-health-timeout=soon', /^--flags: --machine-health-timeout/],
    ['--orphan-policy=report --failed-vms-kept-per-class=1', /requires --orphan-policy=delete/],
  ])('%s is refused', async (text, message) => {
    await expect(controllerSettings([text])).rejects.toThrow(message);
  });
});

test('a percentile is a measured value', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.5)]).toEqual([50, 99, 7]);
  expect(percentile([], 0.5)).toBeUndefined();
});

async function afterDeletion(change: {
  readonly machine?: object;
  readonly pod?: object;
  readonly ready?: 'True' | 'Unknown';
  readonly afterMs?: number;
}): Promise<readonly string[]> {
  const clock = new VirtualClock();
  const machine = partial<Machine>({
    metadata: {
      name: 'm',
      uid: 'm',
      labels: { node: 'n' },
      deletionTimestamp: clock.now().toISOString(),
      ...change.machine,
    },
    spec: { class: { name: 'small' }, providerID: 'toy:///1' },
  });
  const pod = partial<Pod>({
    metadata: { name: 'p', creationTimestamp: '2025-12-31T00:00:00Z', ...change.pod },
    spec: {},
  });
  const node = partial<Node>({
    metadata: { name: 'n' },
    status: { conditions: [{ type: 'Ready', status: change.ready ?? 'True' }] },
  });
  const reporter = new Reporter(clock);
  const rules = new VmRules({
    clock,
    reporter,
    machines: partial<Informer<Machine>>({ store: partial<Informer<Machine>['store']>({ list: () => [machine] }) }),
    classes: [partial<MachineClass>({ metadata: { name: 'small' } })],
    pods: partial<Informer<Pod>>({ store: partial<Informer<Pod>['store']>({ byIndex: () => [pod] }) }),
    nodes: partial<Informer<Node>>({ store: partial<Informer<Node>['store']>({ get: () => node }) }),
    defaults: MACHINE_DEFAULTS,
    list: async () => [],
    lagMs: () => 1_000,
  });
  await clock.advance(change.afterMs ?? 60_000);
  const driver = rules.wrap(partial<DriverDefinition<unknown, unknown>>({ delete: async () => undefined }));
  await driver.delete(partial<MachineRequest<unknown, unknown>>({ machine }));
  return reporter.violations;
}

test.each<[what: string, change: Parameters<typeof afterDeletion>[0]]>([
  ['after the drain timeout', { afterMs: 7_200_000 }],
  ['by force', { machine: { labels: { node: 'n', 'force-deletion': 'true' } } }],
  ['of an unreachable node', { ready: 'Unknown' }],
  ['with only a pod of a DaemonSet', { pod: { ownerReferences: [{ kind: 'DaemonSet', controller: true }] } }],
  ['with a new pod', { pod: { creationTimestamp: '2026-01-01T00:00:59Z' } }],
])('the deletion of a VM %s breaks no rule', async (_what, change) => {
  expect(await afterDeletion(change)).toEqual([]);
});

test('the deletion of a VM with running pods is reported', async () => {
  expect(await afterDeletion({})).toEqual([
    'mcm deletes the VM of m before the end of its drain, while the pods p still run',
  ]);
});
