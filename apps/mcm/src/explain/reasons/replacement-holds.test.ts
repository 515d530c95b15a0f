import {
  API_VERSION,
  crds,
  type Machine,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { guardsOf, SAFEGUARD_DEFAULTS } from '@mcm/core';
import { createClient, type Node, type ResourceClient, seededRandom, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { explainMachine } from '../machine/machine.ts';
import { machineWait } from '../machine/machine-wait.ts';
import { KEPT_UPDATE } from './brief.ts';
import { type ReplacementContext, replacementHolds } from './replacement-holds.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const OLD = new Date(NOW.getTime() - 9 * 60_000).toISOString();
const CLASS = { metadata: { name: 'small', namespace: 'test' } } as never;

const machine = (name: string, phase: MachinePhase, annotations: object = {}): Machine =>
  partial<Machine>({
    metadata: {
      name,
      namespace: 'test',
      uid: name,
      labels: { name: 'pool', node: name },
      annotations,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'MachineSet', name: 's', uid: 's', controller: true }],
    },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
    status: { currentStatus: { phase, lastUpdateTime: OLD }, conditions: [{ type: 'Ready', status: 'Unknown' }] },
  });

const set = (metadata: object = {}, spec: object = {}): MachineSet =>
  partial<MachineSet>({
    metadata: { name: 's', uid: 's', ...metadata },
    spec: { template: { spec: { class: { name: 'small' } } }, ...spec },
  });

const guards = (fleet: readonly Machine[], classes: readonly never[] = [CLASS]) =>
  guardsOf({ machines: fleet, classes, nodes: undefined }, SAFEGUARD_DEFAULTS, NOW);

const sick = machine('sick', 'Unknown');
const fleet = (...phases: MachinePhase[]): Machine[] => [sick, ...phases.map((phase, i) => machine(`m${i}`, phase))];
const seen = (all: readonly Machine[]): ReplacementContext => ({ fleet: all, guards: guards(all), set: set() });

test('nothing prevents the replacement of the only unhealthy machine of a set', () => {
  expect(replacementHolds(sick, seen(fleet('Running', 'Running', 'Running')))).toEqual([]);
  expect(replacementHolds(sick, {})).toEqual([]);
});

const stops = partial<MachineDeployment>({
  metadata: { annotations: { 'rollout.machine.sapcloud.io/on-cannot-update-in-place': 'Stop' } },
  spec: { strategy: { type: 'InPlaceUpdate' } },
});

test('a deployment that keeps failed in-place updates holds only machines with a failed update', () => {
  const one = machine('m', 'InPlaceUpdateFailed');
  const holds = replacementHolds(one, { deployment: stops, set: set() });
  expect(holds).toEqual([KEPT_UPDATE]);
  expect(replacementHolds(sick, { deployment: stops, set: set() })).toEqual([]);
  const wait = machineWait(one, undefined, undefined, holds);
  expect(wait?.deadline).toBeUndefined();
  expect(wait?.doing).toContain(`; mcm keeps the machine, because ${KEPT_UPDATE}`);
});

const paused = { metadata: {}, spec: { paused: true } } as MachineDeployment;
const going = { metadata: { deletionTimestamp: OLD }, spec: {} } as MachineDeployment;
const kept = partial<Node>({
  metadata: { name: 'sick', annotations: { 'node.machine.sapcloud.io/preserve': 'when-failed' } },
});

test.for<[what: string, context: ReplacementContext, holds: string]>([
  ['a deleted deployment', { deployment: going, set: set() }, 'the MachineDeployment is being deleted'],
  ['a deleted set', { set: set({ deletionTimestamp: OLD }) }, 'MachineSet s is being deleted'],
  ['a frozen set', { set: set({ labels: { freeze: 'True' } }) }, 'MachineSet s is frozen'],
  [
    'a set that must not create machines',
    { set: set({ labels: { 'node.machine.sapcloud.io/scale-up-disabled': 'true' } }) },
    'MachineSet s has the label node.machine.sapcloud.io/scale-up-disabled',
  ],
  [
    'a paused rollout with a template that is not proven',
    { deployment: paused, set: set(), keepsFailed: true },
    'the rollout is paused, and the new template is not proven',
  ],
  ['a request to preserve it', { set: set(), node: kept }, 'the machine is preserved'],
  [
    'the preservation of a set',
    { set: set({}, { autoPreserveFailedMachineMax: 2 }) },
    'the machine is one of 2 Failed machines that its MachineSet preserves',
  ],
  ['a missing class', { set: set(), guards: guards([], []) }, 'the namespace has no MachineClass "small"'],
  [
    'the limit of replacements',
    seen(fleet('Running', 'Running', 'Running', 'Terminating')),
    '1 other machine of the same deployment or set is being replaced or created, and --max-unhealthy-replacements allows only 1',
  ],
  [
    'an open circuit breaker',
    seen(fleet('Unknown', 'Unknown', 'Running')),
    'the circuit breaker is open: 3 of 4 machines of the cluster are unreachable',
  ],
])('a replacement is not announced because of %s', ([_what, context, holds]) => {
  expect(replacementHolds(sick, context)).toEqual([holds]);
});

test('a pause alone does not prevent a replacement', () => {
  expect(replacementHolds(sick, { deployment: paused, set: set() })).toEqual([]);
});

test.each([
  [
    'with a canary',
    { 'rollout.machine.sapcloud.io/canary': '1' },
    'the machine may be Failed, but mcm does not replace the machine while the rollout is paused, and the new template is not proven',
  ],
  ['without a canary', {}, 'the machine may be Failed and replaced'],
])('explain reads and prints the reasons against a replacement %s', async (_title, annotations, then) => {
  const clock = new VirtualClock({ start: NOW });
  const plane = await startControlPlane({ clock, crds, controllers: false });
  const client = createClient({
    transport: plane.transport,
    userAgent: 'test',
    clock,
  });
  const NS = 'default';
  const template = { metadata: { labels: { app: 'a' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  const selector = { matchLabels: { app: 'a' } };
  const create = <T>(api: { create: (object: never) => Promise<T> }, object: object): Promise<T> =>
    api.create(object as never);
  const owner = (kind: string, { metadata: { name, uid } }: { metadata: { name: string; uid: string } }) => [
    { apiVersion: API_VERSION, kind, name, uid, controller: true },
  ];
  const body = {
    metadata: { name: 'small', namespace: NS },
    providerSpec: {},
    secretRef: { name: 'small', namespace: NS },
  };
  await create(client.resource(machineClasses, NS), body);
  const deployment = await create(client.resource(machineDeployments, NS), {
    metadata: { name: 'pool', namespace: NS, annotations },
    spec: { replicas: 1, selector, template, paused: true },
  });
  await create(client.resource(machineSets, NS), {
    metadata: {
      name: 'pool-old',
      namespace: NS,
      labels: { app: 'a' },
      ownerReferences: owner('MachineDeployment', deployment),
    },
    spec: {
      replicas: 1,
      selector,
      template: { ...template, spec: { class: { kind: 'MachineClass', name: 'former' } } },
    },
  });
  const owned = await create(client.resource(machineSets, NS), {
    metadata: {
      name: 'pool-a',
      namespace: NS,
      labels: { app: 'a' },
      ownerReferences: owner('MachineDeployment', deployment),
    },
    spec: { replicas: 1, selector, template },
  });
  const api: ResourceClient<Machine> = client.resource<Machine>(machines, NS);
  await create(api, {
    metadata: { name: 'm', namespace: NS, labels: { app: 'a' }, ownerReferences: owner('MachineSet', owned) },
    spec: template.spec,
  });
  const status = { currentStatus: { phase: 'Unknown', lastUpdateTime: NOW.toISOString() } };
  await api.patch('m', { type: 'merge', body: { status } }, { subresource: 'status' });
  const { signal } = new AbortController();
  const target = { client, target: client, namespace: NS, name: 'm', clock, random: seededRandom(1), signal };
  const explanation = await explainMachine(target);
  await plane.close();
  expect(explanation.there && explanation.waitsFor?.deadline?.then).toBe(then);
});
