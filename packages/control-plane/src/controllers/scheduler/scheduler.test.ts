import { expect, test } from 'vitest';
import type { ApiObject } from '../../object.ts';
import { TestPlane } from '../testing.ts';
import { chooseNode } from './index.ts';
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
  return 'node' in decision ? (decision.node.metadata.name ?? '') : decision.why;
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

test('what is taken is not given twice, and is free again afterwards', () => {
  const usage = new Usage();
  usage.put(pod({}, 'first'), 'a');
  expect(choose(pod(), [node('a')], usage)).toBe('0/1 nodes are available: 1 Insufficient cpu.');
  expect(choose(pod(), [node('a'), node('b')], usage)).toBe('b');
  usage.remove('first');
  expect(choose(pod(), [node('a')], usage)).toBe('a');
});

test('a pod that fits nowhere says so, and is bound when a node comes', async () => {
  await using plane = await TestPlane.start('scheduler');
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { containers: [{ name: 'c', image: 'i' }], tolerations: [{ operator: 'Exists' }] };
  await plane.must('POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
  expect((await plane.must('GET', `${pods}/p`)).status).toMatchObject({
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  });
  await plane.must('POST', '/api/v1/nodes', node('n'));
  expect((await plane.must('GET', `${pods}/p`)).spec).toMatchObject({ nodeName: 'n' });
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
])('other pods decide: %s', (title, wanting, outcome) => {
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

test("a pod that has gone is nobody's neighbour any more", () => {
  const usage = new Usage();
  usage.put(placed('first', { app: 'a' }, near('podAntiAffinity', 'a')), 'x1');
  const wanting = placed('new', { app: 'a' });
  expect(choose(wanting, [inZone('x1', 'x')], usage)).toContain("didn't satisfy existing pods anti-affinity rules");
  usage.remove('first');
  expect(choose(wanting, [inZone('x1', 'x')], usage)).toBe('x1');
});

test('a pod that waits for company is bound when its company is', async () => {
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
