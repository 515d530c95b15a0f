import type { Machine, MachineDeployment, MachinePhase, MachineSet } from '@mcm/api';
import type { EventObject } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { isSettled, viewFleet } from './fleet.ts';

const at = '2026-01-01T00:00:00Z';
const meta = (name: string, extra: object = {}) => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: at,
  ...extra,
});

const deployment = (status: object): MachineDeployment =>
  partial<MachineDeployment>({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineDeployment',
    metadata: meta('workers'),
    spec: { replicas: 2, template: {} },
    status,
  });
const set = (name: string, replicas: number, revision: string): MachineSet =>
  partial<MachineSet>({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineSet',
    metadata: meta(name, {
      annotations: { 'deployment.kubernetes.io/revision': revision },
      ownerReferences: [{ uid: 'uid-workers', name: 'workers', kind: 'MachineDeployment', apiVersion: 'x' }],
    }),
    spec: {},
    status: { replicas },
  });
const machine = (name: string, phase?: MachinePhase): Machine =>
  partial<Machine>({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: meta(name),
    spec: {},
    ...(phase
      ? { status: { currentStatus: { phase }, lastOperation: { description: 'Creating machine on cloud provider' } } }
      : {}),
  });

test('a fleet is settled when every machine has the newest template and is available', () => {
  const status = { replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2 };
  const machines = [machine('a', 'Running'), machine('b', 'Running')];
  expect(isSettled(viewFleet([deployment(status)], [set('new', 2, '2')], machines, []))).toBe(true);
  expect(
    isSettled(viewFleet([deployment({ ...status, availableReplicas: 1 })], [set('new', 2, '2')], machines, [])),
  ).toBe(false);
  expect(isSettled(viewFleet([deployment(status)], [set('new', 2, '2'), set('old', 1, '1')], machines, []))).toBe(
    false,
  );
  expect(
    isSettled(viewFleet([deployment(status)], [set('new', 2, '2')], [...machines, machine('c', 'Terminating')], [])),
  ).toBe(false);
  expect(isSettled(viewFleet([], [], [], []))).toBe(false);
});

test('phases are counted in their usual order, and only machines that are not Running show their activity', () => {
  const fleet = viewFleet([], [], [machine('c', 'Terminating'), machine('b', 'Running'), machine('a')], []);
  expect([...fleet.phases]).toEqual([
    ['Creating', 1],
    ['Running', 1],
    ['Terminating', 1],
  ]);
  expect(fleet.machines.map((m) => m.doing)).toEqual(['', '', 'Creating machine on cloud provider']);
});

test('a deployment shows how many old machines it has, and its problem', () => {
  const status = {
    updatedReplicas: 1,
    availableReplicas: 2,
    conditions: [
      { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'no progress for 10m' },
    ],
  };
  const [view] = viewFleet([deployment(status)], [set('new', 1, '2'), set('old', 2, '1')], [], []).deployments;
  expect(view).toMatchObject({ old: 2, updated: 1, desired: 2, problem: 'no progress for 10m' });
});

test.each([
  [
    'Drain failed due to - error while evicting pod "default/guest": budget default/guest is misconfigured',
    'Drain: pod "default/guest": budget default/guest is misconfigured',
  ],
  [
    'Cloud provider message - machine codes error: code = [InvalidArgument] message = [no type "huge"; look at [it]]',
    'InvalidArgument: no type "huge"; look at [it]',
  ],
  ['Creating machine on cloud provider', 'Creating machine on cloud provider'],
])('the activity of a machine starts with its subject: %s', (description, doing) => {
  const one = partial<Machine>({
    ...machine('a', 'Pending'),
    status: { currentStatus: { phase: 'Pending' }, lastOperation: { description } },
  });
  const { machines } = viewFleet([], [], [one], []);
  expect(machines.map((each) => each.doing)).toEqual([doing]);
});

test('texts of clouds, events and conditions are escaped', () => {
  const evil = '\u001b]0;title\u0007\nworkers 3/3 available\u202e';
  const safe = '^[]0;title\\u{7}\\nworkers 3/3 available\\u{202e}';
  const status = { conditions: [{ type: 'Progressing', status: 'False', reason: 'x', message: evil }] };
  const one = partial<Machine>({
    ...machine('a', 'Pending'),
    status: { currentStatus: { phase: evil as MachinePhase }, lastOperation: { description: evil } },
  });
  const event = partial<EventObject>({
    metadata: meta('e'),
    involvedObject: { kind: 'Machine', name: evil },
    reason: evil,
    message: evil,
  });
  const fleet = viewFleet([deployment(status)], [], [one], [event]);
  expect(fleet).toMatchObject({
    deployments: [{ problem: safe }],
    machines: [{ phase: safe, doing: safe }],
    events: [{ object: `Machine/${safe}`, reason: safe, message: safe }],
  });
});

test('events of workloads do not replace the events of machines', () => {
  const event = (kind: string, index: number) =>
    partial<EventObject>({
      metadata: meta(`${kind}-${index}`),
      involvedObject: { kind, name: 'a' },
      lastTimestamp: `2026-01-01T00:00:${String(index % 60).padStart(2, '0')}Z`,
    });
  const workloads = Array.from({ length: 60 }, (_, index) => event(index % 2 === 0 ? 'ReplicaSet' : 'Job', index));
  const all = [event('Machine', 1), ...workloads, event('MachineConfigPool', 3), event('Node', 2)];
  const { events } = viewFleet([], [], [], all);
  expect(events.map(({ object }) => object)).toEqual(['Machine/a', 'Node/a', 'MachineConfigPool/a']);
});

test.each([
  [{}, false],
  [{ observedGeneration: 1 }, false],
  [{ observedGeneration: 2 }, true],
])('with generation 2 and the status %j, the newest spec is observed: %s', (status, observed) => {
  const changed = deployment(status);
  const seen = { ...changed, metadata: { ...changed.metadata, generation: 2 } };
  expect(viewFleet([seen], [], [], []).deployments[0]?.observed).toBe(observed);
});

test('a machine whose deletion is requested is Terminating before the machine controller acts', () => {
  const status = {
    currentStatus: { phase: 'Running' },
    lastOperation: { type: 'HealthCheck', description: 'joined' },
  } as const;
  const doomed = partial<Machine>({ ...machine('a'), metadata: meta('a', { deletionTimestamp: at }), status });
  const { machines, phases } = viewFleet([], [], [doomed], []);
  expect(machines).toMatchObject([{ phase: 'Terminating', doing: 'the deletion is requested' }]);
  expect([...phases]).toEqual([['Terminating', 1]]);
});
