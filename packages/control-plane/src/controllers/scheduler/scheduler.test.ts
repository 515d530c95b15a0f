import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';
import { chooseNode } from './choose.ts';
import { Usage } from './resources.ts';

const node = (name: string, body: Record<string, unknown> = {}, labels: Record<string, string> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels },
  spec: {},
  status: { allocatable: { cpu: '1', pods: '2' } },
  ...body,
});

const pod = (spec: Record<string, unknown> = {}, name = 'p'): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid: name },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu: '600m' } } }], ...spec },
});

const choose = (wanting: ApiObject, nodes: ApiObject[], usage = new Usage()): string => {
  const decision = chooseNode(wanting, nodes, [], usage);
  return 'node' in decision ? (decision.node.metadata.name ?? '') : decision.why.replace(/ no new claims .*$/, '');
};

test.each<[string, ApiObject, ApiObject[], string]>([
  ['nothing to choose from', pod(), [], 'no nodes available to schedule pods'],
  ['a free node', pod(), [node('a')], 'a'],
  [
    'a cordoned one',
    pod(),
    [node('a', { spec: { unschedulable: true } })],
    '0/1 nodes are available: 1 node(s) were unschedulable.',
  ],
  [
    'a taint that is not tolerated',
    pod(),
    [node('a', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } })],
    '0/1 nodes are available: 1 node(s) had untolerated taint(s).',
  ],
  [
    'one that is',
    pod({ tolerations: [{ key: 'k', operator: 'Exists' }] }),
    [node('a', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } })],
    'a',
  ],
  ['a mere preference', pod(), [node('a', { spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } })], 'a'],
  [
    'the node that the selector names',
    pod({ nodeSelector: { zone: 'b' } }),
    [node('a'), node('b', {}, { zone: 'b' })],
    'b',
  ],
  [
    'too little CPU',
    pod({ containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] }),
    [node('a')],
    '0/1 nodes are available: 1 Insufficient cpu.',
  ],
])('%s', (_title, wanting, nodes, outcome) => {
  expect(choose(wanting, nodes)).toBe(outcome);
});

test('resources are not assigned twice, and are free again afterwards', () => {
  const usage = new Usage();
  usage.put(pod({}, 'first'), 'a');
  expect(choose(pod(), [node('a')], usage)).toBe('0/1 nodes are available: 1 Insufficient cpu.');
  expect(choose(pod(), [node('a'), node('b')], usage)).toBe('b');
  usage.remove('first');
  expect(choose(pod(), [node('a')], usage)).toBe('a');
});

const ONE = { name: 'c', resources: { requests: { cpu: '600m' } } };
const EMPTIED = '1 No preemption victims found for incoming pod.';
const HELPLESS = '1 Preemption is not helpful for scheduling.';

test.each<[string, Record<string, unknown>, string, string]>([
  ['less than there is left', {}, '1 Insufficient cpu.', EMPTIED],
  [
    'more than there is, of several things',
    { containers: [{ name: 'c', resources: { requests: { cpu: '2', 'x.dev/gpu': '1' } } }] },
    '1 Insufficient cpu, 1 Insufficient x.dev/gpu.',
    HELPLESS,
  ],
  ['a place that is taken', { containers: [{ name: 'c' }], nodeName: 'full' }, '1 Too many pods.', EMPTIED],
  ['a label', { nodeSelector: { a: 'b' } }, "1 node(s) didn't match Pod's node affinity/selector.", HELPLESS],
  ['without displacing', { preemptionPolicy: 'Never' }, '1 Insufficient cpu.', 'never'],
])(
  'a pod that requests %s gets all missing resources, and whether preemption could help',
  (_what, spec, why, outlook) => {
    const usage = new Usage();
    usage.put(pod({ containers: [ONE] }, 'first'), 'a');
    if (spec.nodeName === 'full') usage.put(pod({ containers: [{ name: 'c' }] }, 'second'), 'a');
    const decision = chooseNode(pod(spec), [node('a')], [], usage);
    const hope =
      outlook === 'never' ? 'not eligible due to preemptionPolicy=Never.' : `0/1 nodes are available: ${outlook}`;
    expect(decision).toEqual({
      why: `0/1 nodes are available: ${why} no new claims to deallocate, preemption: ${hope}`,
    });
  },
);

const named = (...lists: string[][]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: lists.map((values) => ({
          matchFields: [{ key: 'metadata.name', operator: 'In', values }],
        })),
      },
    },
  },
});

test('for a pod that names its nodes, other nodes are not checked', () => {
  expect(choose(pod(named(['b'], ['c'])), [node('a'), node('b')])).toBe('b');
  expect(choose(pod(named(['c'])), [node('a'), node('b', { spec: { unschedulable: true } })])).toBe(
    "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  );
});

test('a pod without a suitable node reports it, and is bound when a node is added', async () => {
  await using plane = await TestPlane.start('scheduler');
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { containers: [{ name: 'c', image: 'i' }], tolerations: [{ operator: 'Exists' }] };
  await plane.must('POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
  expect((await plane.must('GET', `${pods}/p`)).status).toMatchObject({
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', observedGeneration: 1 }],
  });
  const { managedFields = [] } = (await plane.must('GET', `${pods}/p`)).metadata;
  expect(managedFields.map(({ manager, subresource }) => [manager, subresource])).toContainEqual([
    'kube-scheduler',
    'status',
  ]);
  await plane.must('POST', '/api/v1/nodes', node('n'));
  expect((await plane.must('GET', `${pods}/p`)).spec).toMatchObject({ nodeName: 'n' });
  const reported = await plane.list('/apis/events.k8s.io/v1/namespaces/default/events');
  expect(reported.map(({ type, reason, action, note, regarding }) => [type, reason, action, note, regarding])).toEqual([
    ['Warning', 'FailedScheduling', 'Scheduling', 'no nodes available to schedule pods', expect.anything()],
    [
      'Normal',
      'Scheduled',
      'Binding',
      'Successfully assigned default/p to n',
      expect.objectContaining({ kind: 'Pod', namespace: 'default', name: 'p' }),
    ],
  ]);
  const [core] = await plane.list('/api/v1/namespaces/default/events');
  expect(core).toMatchObject({ reportingComponent: 'default-scheduler', involvedObject: { name: 'p' } });
  expect(core).not.toHaveProperty('count');
  expect(plane.errors).toEqual([]);
});

const placed = (name: string, labels: Record<string, string>, spec: Record<string, unknown> = {}): ApiObject => ({
  ...pod({ containers: [{ name: 'c' }], ...spec }, name),
  metadata: { name, uid: name, namespace: 'default', labels },
});
const inZone = (name: string, zone: string): ApiObject => node(name, {}, { zone });
const near = (kind: string, app: string) => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'zone', labelSelector: { matchLabels: { app } } },
      ],
    },
  },
});
const apart = (maxSkew: number) => ({
  topologySpreadConstraints: [
    { maxSkew, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'a' } } },
  ],
});

test.each<[string, ApiObject, string]>([
  ['beside the pod that it wants', placed('new', {}, near('podAffinity', 'a')), 'x1'],
  ['away from the pod that it shuns', placed('new', {}, near('podAntiAffinity', 'a')), 'y1'],
  ['away from the pod that shuns it', placed('new', { app: 'shy' }), 'x1'],
  ['where the fewest of its kind are', placed('new', { app: 'a' }, apart(1)), 'y1'],
  ['first of its kind', placed('new', { app: 'new' }, near('podAffinity', 'new')), 'x2'],
  [
    'nowhere: nobody is there to stand beside',
    placed('new', {}, near('podAffinity', 'nobody')),
    "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.",
  ],
])('other pods affect the decision: %s', (title, wanting, outcome) => {
  const usage = new Usage();
  usage.put(placed('first', { app: 'a' }), 'x1');
  usage.put(
    placed('second', { app: 'b' }, title.includes('that shuns it') ? near('podAntiAffinity', 'shy') : {}),
    'y1',
  );
  const nodes = [inZone('x1', 'x'), inZone('x2', 'x'), inZone('y1', 'y')];
  const places = title.startsWith('first') ? nodes : nodes.filter(({ metadata }) => metadata.name !== 'x2');
  expect(choose(wanting, title.startsWith('nowhere') ? nodes : places, usage)).toBe(outcome);
});

test.each([
  ['Ignore', 'y1'],
  ['Honor', 'x1'],
])('pods are also spread over nodes with taints, unless the policy is %s: %s', (policy, outcome) => {
  const usage = new Usage();
  usage.put(placed('first', { app: 'a' }), 'x1');
  const tainted = node('y1', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }, { zone: 'y' });
  const constraint = { ...apart(1).topologySpreadConstraints[0], nodeTaintsPolicy: policy };
  const wanting = placed('new', { app: 'a' }, { topologySpreadConstraints: [constraint] });
  const found = choose(wanting, [inZone('x1', 'x'), tainted], usage);
  expect(found).toBe(
    outcome === 'x1'
      ? 'x1'
      : "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) had untolerated taint(s).",
  );
});

const going = (pod: ApiObject): ApiObject => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

test('terminating pods do not count for spreading, but for affinity and anti-affinity', () => {
  const nodes = ['x', 'y'].map((zone) => node(`${zone}1`, { status: {} }, { zone }));
  const usage = new Usage();
  usage.put(going(placed('first', { app: 'a' })), 'x1');
  usage.put(placed('other', { app: 'b' }), 'y1');
  usage.put(placed('another', { app: 'b' }), 'y1');
  const spreading = placed('new', { app: 'a' }, apart(1));
  expect(choose(spreading, nodes, usage)).toBe('x1');
  usage.put(placed('second', { app: 'a' }), 'x1');
  expect(choose(spreading, nodes, usage)).toBe('y1');
  expect(choose(placed('new', {}, near('podAntiAffinity', 'a')), nodes.slice(0, 1), usage)).toMatch('anti-affinity');
});

test('a constraint that selects every pod counts none of them', () => {
  const usage = new Usage();
  for (const name of ['first', 'second']) usage.put(placed(name, { app: 'a' }), 'x1');
  const constraint = { ...apart(1).topologySpreadConstraints[0], labelSelector: {} };
  const roomy = node('x1', { status: {} }, { zone: 'x' });
  const cordoned = node('y1', { spec: { unschedulable: true } }, { zone: 'y' });
  expect(
    choose(placed('new', { app: 'a' }, { topologySpreadConstraints: [constraint] }), [roomy, cordoned], usage),
  ).toBe('x1');
});

test('each matching pod of an affinity must match all terms', () => {
  const usage = new Usage();
  usage.put(placed('red', { colour: 'red' }), 'x1');
  usage.put(placed('round', { shape: 'round' }), 'x1');
  const [term] = near('podAffinity', 'a').affinity.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const both = [{ colour: 'red' }, { shape: 'round' }].map((matchLabels) => ({
    ...term,
    labelSelector: { matchLabels },
  }));
  const wanting = placed(
    'new',
    {},
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: both } } },
  );
  const roomy = node('x1', { status: {} }, { zone: 'x' });
  expect(choose(wanting, [roomy], usage)).toMatch("didn't match pod affinity rules");
  usage.put(placed('ball', { colour: 'red', shape: 'round' }), 'x1');
  expect(choose(wanting, [roomy], usage)).toBe('x1');
});

test('a second pod with a ReadWriteOncePod claim waits until the first is deleted', async () => {
  await using plane = await TestPlane.start('scheduler', 'persistentvolume-binder');
  const pods = '/api/v1/namespaces/default/pods';
  const modes = { accessModes: ['ReadWriteOncePod'], storageClassName: 'x' };
  await plane.must('POST', '/api/v1/nodes', node('n'));
  await plane.must('POST', '/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv' },
    spec: { ...modes, capacity: { storage: '1Gi' }, csi: { driver: 'd', volumeHandle: 'h' } },
  });
  await plane.must('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: { ...modes, resources: { requests: { storage: '1Gi' } } },
  });
  const start = (name: string) =>
    plane.must('POST', pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        tolerations: [{ operator: 'Exists' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
      },
    });
  await start('one');
  await start('two');
  expect((await plane.must('GET', `${pods}/one`)).spec).toMatchObject({ nodeName: 'n' });
  expect((await plane.must('GET', `${pods}/two`)).status).toMatchObject({
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        message: expect.stringContaining(
          '1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.',
        ),
      },
    ],
  });
  await plane.must('DELETE', `${pods}/one`, { gracePeriodSeconds: 0 });
  expect((await plane.must('GET', `${pods}/two`)).spec).toMatchObject({ nodeName: 'n' });
  expect(plane.errors).toEqual([]);
});

test('a deleted pod does not affect other pods', () => {
  const usage = new Usage();
  usage.put(placed('first', { app: 'a' }, near('podAntiAffinity', 'a')), 'x1');
  const wanting = placed('new', { app: 'a' });
  expect(choose(wanting, [inZone('x1', 'x')], usage)).toContain("didn't satisfy existing pods anti-affinity rules");
  usage.remove('first');
  expect(choose(wanting, [inZone('x1', 'x')], usage)).toBe('x1');
});

test('a pod that waits for an affinity is bound when the other pod is', async () => {
  await using plane = await TestPlane.start('scheduler');
  const pods = '/api/v1/namespaces/default/pods';
  const body = (name: string, app: string, spec: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app } },
    spec: { containers: [{ name: 'c', image: 'i' }], tolerations: [{ operator: 'Exists' }], ...spec },
  });
  await plane.must('POST', '/api/v1/nodes', inZone('x1', 'x'));
  await plane.must('POST', pods, body('guest', 'guest', near('podAffinity', 'host')));
  expect((await plane.must('GET', `${pods}/guest`)).spec).not.toHaveProperty('nodeName');
  await plane.must('POST', pods, body('host', 'host'));
  expect((await plane.must('GET', `${pods}/guest`)).spec).toMatchObject({ nodeName: 'x1' });
  expect(plane.errors).toEqual([]);
});

test('when resources are free again, the pod with the highest priority is bound first', async () => {
  await using plane = await TestPlane.start('scheduler');
  const pods = '/api/v1/namespaces/default/pods';
  await plane.must('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 1000,
  });
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '600m' } } }];
  const start = (name: string, spec = {}) =>
    plane.must('POST', pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers, tolerations: [{ operator: 'Exists' }], ...spec },
    });
  await start('low');
  await start('high', { priorityClassName: 'high' });
  await plane.must('POST', '/api/v1/nodes', node('n'));
  expect((await plane.must('GET', `${pods}/high`)).spec).toMatchObject({ nodeName: 'n' });
  expect((await plane.must('GET', `${pods}/low`)).spec).not.toHaveProperty('nodeName');
});

test('the nominated node is used if it is suitable, and the nomination is removed', async () => {
  await using plane = await TestPlane.start('scheduler');
  const pods = '/api/v1/namespaces/default/pods';
  const roomy = { status: { allocatable: { cpu: '4', pods: '9' } } };
  for (const name of ['a', 'b']) await plane.must('POST', '/api/v1/nodes', node(name, roomy));
  const start = (name: string, spec = {}) =>
    plane.must('POST', pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }], tolerations: [{ operator: 'Exists' }], ...spec },
    });
  await start('other', { nodeName: 'b' });
  await start('p', { schedulingGates: [{ name: 'wait.for/me' }] });
  await plane.patch(`${pods}/p/status`, { status: { nominatedNodeName: 'b' } });
  await plane.patch(`${pods}/p`, { spec: { schedulingGates: null } });
  const bound = await plane.must('GET', `${pods}/p`);
  expect(bound.spec).toMatchObject({ nodeName: 'b' });
  expect(bound.status).not.toHaveProperty('nominatedNodeName');
});
