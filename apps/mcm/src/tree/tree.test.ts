import { Annotations, API_VERSION, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatted } from '../output/format.ts';
import { fleetTree, type TreeSource, treeLines } from './tree.ts';

const meta = (name: string, owner?: string, more: object = {}) => ({
  name,
  namespace: 'test',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...(owner === undefined
    ? {}
    : {
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'X', name: owner, uid: `uid-${owner}`, controller: true }],
      }),
  ...more,
});
const NOW = new Date('2026-01-01T01:00:00Z');
const template = { spec: { class: { kind: 'MachineClass', name: 'small' } } };

const deployment = (name: string, status: object, spec: object = {}) =>
  ({ metadata: meta(name), spec: { replicas: 2, template, ...spec }, status }) as MachineDeployment;
const set = (name: string, owner: string | undefined, revision: number, readyReplicas: number) =>
  ({
    metadata: meta(name, owner, { annotations: { 'deployment.kubernetes.io/revision': String(revision) } }),
    spec: { replicas: 2, template },
    status: { readyReplicas },
  }) as MachineSet;
const machine = (name: string, owner: string | undefined, phase: string, description = '') =>
  ({
    metadata: meta(name, owner, phase === '' ? {} : { labels: { node: `node-${name}` } }),
    spec: {
      class: { kind: 'MachineClass', name: 'small' },
      ...(phase === '' ? {} : { providerID: `local:///z/${name}` }),
    },
    status: { currentStatus: { phase, lastUpdateTime: '2026-01-01T00:55:00Z' }, lastOperation: { description } },
  }) as Machine;
const node = (name: string, ready: 'True' | 'False', more: object = {}) =>
  partial<Node>({
    metadata: meta(name, undefined, { labels: { 'topology.kubernetes.io/zone': 'z' } }),
    spec: more,
    status: {
      conditions: [{ type: 'Ready', status: ready, message: 'kubelet stopped posting node status' }],
      nodeInfo: { kubeletVersion: 'v1.36.0' },
    },
  });

const configured = (one: Node): Node => ({
  ...one,
  metadata: {
    ...one.metadata,
    annotations: {
      'machineconfiguration.openshift.io/state': 'Degraded',
      'machineconfiguration.openshift.io/reason': 'no space left',
      'machineconfiguration.openshift.io/desiredDrain': 'drain-rendered-worker-1',
    },
  },
});

const doomed = (name: string) => ({ ...meta(name), deletionTimestamp: '2026-01-01T00:58:00Z' });

const source: TreeSource = {
  deployments: [
    deployment('web', {
      availableReplicas: 1,
      updatedReplicas: 2,
      conditions: [
        { type: 'Available', status: 'False', message: 'too few' },
        { type: 'InvalidSpec', status: 'True', message: 'there is no class' },
      ],
    }),
    { ...deployment('idle', { availableReplicas: 0 }, { replicas: 0, paused: true }), metadata: doomed('idle') },
  ],
  sets: [
    set('web-b', 'web', 2, 1),
    set('web-a', 'web', 1, 0),
    { ...set('left', undefined, 1, 0), metadata: { ...set('left', undefined, 1, 0).metadata, ...doomed('left') } },
  ],
  machines: [
    machine('m2', 'web-b', 'Unknown', 'Node is silent'),
    machine('m1', 'web-b', 'Running'),
    machine('m3', 'web-b', '', 'Cloud provider message - out of capacity'),
    machine('lonely', undefined, 'Failed', 'nobody replaces it'),
  ],
  nodes: [
    configured(node('node-m1', 'True', { unschedulable: true })),
    node('node-m2', 'False'),
    node('guest', 'True'),
  ],
};

test('the tree names closed zones, and wide shows the machines of each zone', () => {
  const annotations = {
    [Annotations.Zones]: '[{"zone":"z"},{"zone":"y"},{"zone":"x"}]',
    [Annotations.ZonesEvacuated]: 'y',
    [Annotations.ZonesStandby]: 'x=2026-01-01T00:00:00Z',
  };
  const zonal = {
    ...deployment('web', { availableReplicas: 2, updatedReplicas: 2 }),
    metadata: meta('web', undefined, { annotations }),
  };
  const [first = ''] = treeLines(fleetTree({ ...source, deployments: [zonal] }), true, NOW);
  expect(first).toMatch(/^machinedeployment\/web {2}1?2\/2 available, 2 updated, zone y evacuated, zone x on standby /);
  expect(first).toMatch(/zones=z:2,y:0,x:0$/);
});

test('every object is below its owner, with its state and problem', () => {
  expect(treeLines(fleetTree(source), false, NOW)).toEqual([
    'machinedeployment/idle  0/0 available, 0 updated, paused, being deleted',
    'machinedeployment/web  1/2 available, 2 updated  – there is no class',
    '├─ machineset/web-a  0/2 ready, revision 1',
    '└─ machineset/web-b  1/2 ready, revision 2',
    '   ├─ machine/m1  Running',
    '   │  └─ node/node-m1  Ready, cordoned  – the machine config of the node is Degraded (no space left); for details: mcm config status -o wide',
    '   ├─ machine/m2  Unknown for 5m  – Node is silent',
    '   │  └─ node/node-m2  NotReady  – kubelet stopped posting node status',
    '   └─ machine/m3  Creating for 5m  – out of capacity',
    'machineset/left  0/2 ready, revision 1, being deleted',
    'machine/lonely  Failed for 5m  – nobody replaces it',
    '└─ node/node-lonely  does not exist',
    'node/guest  Ready  – without a machine',
  ]);
});

test('warm machines are below their deployment, without the Node of a stopped VM', () => {
  const [web] = source.deployments;
  const state = { 'warm.machine.sapcloud.io/state': 'Stopped', 'warm.machine.sapcloud.io/power': 'Stopped' };
  const plain = machine('w0', undefined, 'Available');
  const owner = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineDeployment',
    name: 'web',
    controller: true,
  };
  const metadata = {
    ...plain.metadata,
    annotations: state,
    ownerReferences: [{ ...owner, uid: web?.metadata.uid ?? '' }],
  };
  const warm = { ...plain, metadata };
  const deployments = source.deployments.slice(0, 1);
  expect(treeLines(fleetTree({ deployments, sets: [], machines: [warm], nodes: [] }), false, NOW)).toEqual([
    'machinedeployment/web  1/2 available, 2 updated  – there is no class',
    expect.stringMatching(/^└─ machine\/w0 {2}Available.* – the machine is warm: its VM is stopped until a scale-up$/),
  ]);
});

test('old sets without machines are hidden, except with all; the newest set is not', () => {
  const sets = [set('web-b', 'web', 2, 1), set('web-a', 'web', 1, 0)].map((one) => ({
    ...one,
    spec: { ...one.spec, replicas: 0 },
  }));
  const shown = (all: boolean, machines: readonly Machine[] = []) =>
    treeLines(
      fleetTree({ deployments: source.deployments.slice(0, 1), sets, machines, nodes: [] }, { all }),
      false,
      NOW,
    )
      .filter((line) => line.includes('machineset/'))
      .map((line) => line.split('/')[1]?.split(' ')[0]);
  expect(shown(false)).toEqual(['web-b']);
  expect(shown(true)).toEqual(['web-a', 'web-b']);
  expect(shown(false, [machine('m9', 'web-a', 'Terminating')])).toEqual(['web-a', 'web-b']);
});

test('with all namespaces, each has a heading, and JSON names it', () => {
  const other = { ...deployment('aaa', {}), metadata: { ...meta('aaa'), namespace: 'zoo' } };
  const model = fleetTree(
    { ...source, deployments: [...source.deployments, other], nodes: [] },
    { allNamespaces: true },
  );
  const lines = treeLines(model, false, NOW);
  expect(lines[0]).toBe('namespace test');
  expect(lines.slice(-3)).toEqual(['', 'namespace zoo', 'machinedeployment/aaa  0/2 available, 0 updated']);
  expect(model.at(-1)).toMatchObject({ name: 'aaa', namespace: 'zoo' });
});

test('wide adds class, provider ID, zone and kubelet', () => {
  const lines = treeLines(fleetTree(source), true, NOW);
  expect(lines).toContain('   ├─ machine/m1  Running  class=small  providerID=local:///z/m1');
  expect(lines).toContainEqual(
    expect.stringContaining('   │  └─ node/node-m1  Ready, cordoned  zone=z  kubelet=v1.36.0'),
  );
  expect(lines).toContain(
    'machinedeployment/idle  0/0 available, 0 updated, paused, being deleted  strategy=RollingUpdate  class=small',
  );
});

test('unreadable Nodes have a name and no state', () => {
  const lines = treeLines(fleetTree({ ...source, nodes: undefined }), false, NOW);
  const ofNodes = lines.filter((line) => line.includes('node/'));
  expect(ofNodes).toHaveLength(3);
  for (const line of ofNodes) expect(line).toMatch(/└─ node\/node-\w+ {2}the node could not be read$/);
});

test('an empty tree is a sentence', () => {
  const { nodes } = source;
  const none = fleetTree({ deployments: [], sets: [], machines: [], nodes });
  expect([treeLines(none, false, NOW, 'web'), treeLines(none, false, NOW)]).toEqual([
    ['no machinedeployments, machinesets or machines in namespace web'],
    ['no machinedeployments, machinesets or machines in any namespace'],
  ]);
});

test('json and yaml contain the model', () => {
  const model = fleetTree(source);
  expect(JSON.parse(formatted('json', model, () => []).join('\n'))).toEqual(model);
  expect(parse(formatted('yaml', model, () => []).join('\n'))).toEqual(model);
});
