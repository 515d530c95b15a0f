import { Labels, type Machine, type MachinePhase, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { planPool } from '../pool/plan.ts';
import { poolSnapshot } from '../pool/snapshot.ts';
import { listedFleet } from './fleet.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;
const at = { [CurrentConfig]: 'V0', [DesiredConfig]: 'V0', [State]: 'Done' };

type Given = readonly [name: string, phase: string, node: 'ready' | 'not ready' | 'none', extra?: object];

function planOf(given: readonly Given[], { maxUnavailable = 1, replicas = given.length, nodeTemplate = {} } = {}) {
  const ref = { kind: 'MachineSet' as const, namespace: 'n', name: 's' };
  const spec = { machineRef: ref, maxUnavailable, configuration: { name: 'V1' } };
  const pool = partial<MachineConfigPool>({ metadata: { name: 'p' }, spec });
  const set = partial<MachineSet>({
    metadata: { name: 's', namespace: 'n', uid: 's1' },
    spec: { replicas, template: { spec: { nodeTemplate } } },
  });
  const machines = given.map(([name, phase, node, extra]) =>
    partial<Machine>({
      metadata: {
        name,
        namespace: 'n',
        labels: node === 'none' ? {} : { [Labels.Node]: name },
        ownerReferences: [{ kind: 'MachineSet', name: 's', uid: 's1', controller: true }],
        ...extra,
      },
      status: { currentStatus: { phase: phase as MachinePhase } },
    }),
  );
  const nodes = given.flatMap(([name, , node]) => {
    if (node === 'none') return [];
    const status = node === 'ready' ? 'True' : 'False';
    const conditions = [{ type: 'Ready', status } as const];
    return [partial<Node>({ metadata: { name, annotations: at }, spec: {}, status: { conditions } })];
  });
  const snapshot = poolSnapshot(
    pool,
    {
      pools: [pool],
      nodesNear: () => [],
      machineConfig: () => undefined,
      controllerConfig: { metadata: { name: 'machine-config-controller' } } as ControllerConfig,
      node: (name) => nodes.find(({ metadata }) => metadata.name === name),
      fleet: listedFleet({ machines, sets: [set], deployments: [] }),
    },
    { now: '2026-01-01T00:00:00Z' },
  );
  return planPool(snapshot);
}
const targeted = (...given: Parameters<typeof planOf>) => planOf(...given).targeted;

test('a preserved Failed machine takes a slot although its node looks ready, and never gets a target [10.5]', () => {
  const annotations = { 'node.machine.sapcloud.io/preserve': 'now' };
  const given: readonly Given[] = [
    ['a', 'Failed', 'ready', { annotations }],
    ['b', 'Running', 'ready'],
    ['c', 'Running', 'ready'],
  ];
  expect(targeted(given)).toEqual([]);
  expect(targeted(given, { maxUnavailable: 2 })).toEqual(['b']);
  expect(targeted(given, { maxUnavailable: 4, replicas: 4 })).toEqual(['b', 'c']);
});

test('a preserved Failed machine with a node that is not ready takes one slot, not two [10.5]', () => {
  const given: readonly Given[] = [
    ['a', 'Failed', 'not ready'],
    ['b', 'Running', 'ready'],
  ];
  expect(targeted(given)).toEqual([]);
  expect(targeted(given, { maxUnavailable: 2 })).toEqual(['b']);
});

test.each(['', 'Pending', 'Unknown', 'Failed', 'Terminating', 'CrashLoopBackOff'])(
  'a machine in phase %j without a node takes a slot of maxUnavailable [10.5]',
  (phase) => {
    const given: readonly Given[] = [
      ['a', phase, 'none'],
      ['b', 'Running', 'ready'],
      ['c', 'Running', 'ready'],
    ];
    expect(targeted(given)).toEqual([]);
    expect(targeted(given, { maxUnavailable: 2 })).toHaveLength(1);
  },
);

test('a machine whose node is not ready yet is counted by its node only [10.5]', () => {
  const given: readonly Given[] = [
    ['a', 'Unknown', 'not ready'],
    ['b', 'Running', 'ready'],
    ['c', 'Running', 'ready'],
  ];
  expect(targeted(given)).toEqual([]);
  expect(targeted(given, { maxUnavailable: 2 })).toHaveLength(1);
});

test('at most as many nodes get the target as there are replicas, and at least one [10.5]', () => {
  const given = ['a', 'b', 'c'].map((name): Given => [name, 'Running', 'ready']);
  expect(targeted(given, { maxUnavailable: 3 })).toHaveLength(3);
  expect(targeted(given, { maxUnavailable: 3, replicas: 2 })).toHaveLength(2);
  expect(targeted(given, { maxUnavailable: 3, replicas: 0 })).toHaveLength(1);
});

test('nodes whose machine is being deleted or updated in place by mcm get no target [10.5]', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const given: readonly Given[] = [
    ['a', 'Terminating', 'ready', { deletionTimestamp }],
    ['b', 'Running', 'ready', { deletionTimestamp }],
    ['c', 'InPlaceUpdating', 'ready'],
    ['d', 'Running', 'ready'],
  ];
  expect(targeted(given, { maxUnavailable: 4 })).toEqual(['d']);
});

test('labels and taints of machine configs in a nodeTemplate are refused too, and other ones are not [10.4]', () => {
  const given: readonly Given[] = [['a', 'Running', 'ready']];
  const conditionFor = (nodeTemplate: object) =>
    planOf(given, { nodeTemplate }).status?.conditions?.find(({ type }) => type === 'MachineRefResolved');
  const labels = { 'node-role.kubernetes.io/p': '', 'machineconfiguration.openshift.io/x': '' };
  const taints = [
    { key: 'UpdateInProgress', effect: 'PreferNoSchedule' },
    { key: 'mine', effect: 'NoSchedule' },
  ];
  expect(conditionFor({ metadata: { labels }, spec: { taints } })).toMatchObject({
    status: 'False',
    reason: 'Forbidden',
    message: expect.stringMatching(
      /^MachineSet n\/s .*: metadata\.labels\[machineconfiguration\.openshift\.io\/x\], spec\.taints with key UpdateInProgress; remove/,
    ),
  });
  const others = { metadata: { labels: { 'node-role.kubernetes.io/p': '' } }, spec: { taints: taints.slice(1) } };
  expect(conditionFor(others)).toMatchObject({ status: 'True', reason: 'Found' });
  expect(targeted(given, { nodeTemplate: others })).toEqual(['a']);
});
