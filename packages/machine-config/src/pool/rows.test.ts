import type { ConditionStatus } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { isReady, isUnavailable } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { followsWorkers } from '../render/wakeups.ts';
import { nodesOfPool, poolsOfNode } from './membership.ts';
import { planPool } from './plan.ts';
import { byZoneAndAge, candidatesOf, chooseNodes } from './rollout/candidates.ts';
import { deferOperatorNode } from './rollout/defer.ts';
import { maxUnavailableOf } from './rollout/max-unavailable.ts';
import { poolStatus } from './status.ts';

const roleLabel = (role: string) => `node-role.kubernetes.io/${role}`;
const pool = (name: string, spec: Partial<NonNullable<MachineConfigPool['spec']>> = {}): MachineConfigPool =>
  partial<MachineConfigPool>({
    metadata: { name, generation: 3 },
    spec: {
      nodeSelector: { matchLabels: { [roleLabel(name)]: '' } },
      configuration: { name: 'V1', source: [{ name: '00' }] },
      ...spec,
    },
  });

const node = (name: string, roles: readonly string[], labels: Record<string, string> = {}): Node =>
  partial<Node>({
    metadata: { name, labels: { ...Object.fromEntries(roles.map((role) => [roleLabel(role), ''])), ...labels } },
    spec: {},
  });

const POOLS = ['master', 'worker', 'infra', 'infra2'].map((name) => pool(name));
const names = (objects: readonly { metadata: { name: string } }[]) => objects.map(({ metadata }) => metadata.name);

test.each<[row: string, roles: string[], expected: string[]]>([
  ['P2 master', ['master'], ['master']],
  ['P3 master and worker', ['master', 'worker'], ['master']],
  ['P4 worker and infra', ['worker', 'infra'], ['infra', 'worker']],
  ['P5 master and infra', ['master', 'infra'], ['master']],
])('%s', (_row, roles, expected) => {
  expect(names(poolsOfNode(node('n', roles), POOLS))).toEqual(expected);
});

test('a node that two custom pools claim, by two labels or one, is an error [P6] [P7]', () => {
  expect(() => poolsOfNode(node('n', ['infra', 'infra2']), POOLS)).toThrow('belongs to 2 custom roles');
  const twin = { ...pool('twin'), spec: pool('infra').spec } as MachineConfigPool;
  expect(() => poolsOfNode(node('n', ['infra']), [...POOLS, twin])).toThrow('belongs to 2 custom roles');
});

test('a windows node has no pool [P8] [P13]', () => {
  const windows = node('n', ['master', 'worker'], { 'kubernetes.io/os': 'windows' });
  expect(poolsOfNode(windows, POOLS)).toEqual([]);
  expect(nodesOfPool(pool('worker'), [windows], [pool('worker')]).nodes).toEqual([]);
});

const fleet = (count: number, roles: string[]) =>
  Array.from({ length: count }, (_, index) => node(`${roles}${index}`, roles));

test.each<[row: string, pool: string, nodes: Node[], pools: MachineConfigPool[], count: number]>([
  ['P9 no masters', 'master', [...fleet(3, []), ...fleet(3, ['worker'])], POOLS, 0],
  ['P10 two masters', 'master', [...fleet(2, ['master']), ...fleet(2, ['worker'])], POOLS, 2],
  ['P11 only infra exists', 'infra', [...fleet(3, ['master']), ...fleet(3, ['worker', 'infra'])], [pool('infra')], 3],
  [
    'P12 only worker exists',
    'worker',
    [...fleet(3, ['master']), ...fleet(3, ['worker', 'infra'])],
    [pool('worker')],
    3,
  ],
  ['P14 primary is infra', 'worker', fleet(1, ['worker', 'infra']), POOLS, 0],
  ['P15 two custom pools: skipped', 'infra', fleet(1, ['infra', 'infra2']), POOLS, 0],
])('%s', (_row, name, nodes, pools, count) => {
  expect(nodesOfPool(pool(name), nodes, pools).nodes).toHaveLength(count);
});

test('absent and empty selectors select nothing; an empty one is reported without a status write [P16] [P17]', () => {
  const { nodeSelector: _none, ...rest } = pool('x').spec ?? {};
  const without = { ...pool('x'), spec: rest } as MachineConfigPool;
  const empty = pool('x', { nodeSelector: {} });
  expect(poolsOfNode(node('n', ['worker']), [without, empty])).toEqual([]);
  const plan = planPool(snapshot(empty, []));
  expect(plan.events.map(({ reason }) => reason)).toEqual(['SelectingAll']);
  expect(plan.status).toBeUndefined();
});

test.each([
  ['U1', undefined, 1],
  ['U4', '50%', 2],
  ['U5', '60%', 2],
  ['U7', '10%', 1],
])('%s: maxUnavailable %s is converted to a number of four nodes', (_row, value, expected) => {
  expect(maxUnavailableOf(pool('worker', value === undefined ? {} : { maxUnavailable: value }), 4)).toBe(expected);
});

type Ready = 'R' | 'NR' | undefined;
function at(name: string, current: string, desired: string, ready: Ready = 'R', state?: string): Node {
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready === 'R' ? 'True' : 'False' } as const];
  return partial<Node>({
    metadata: {
      name,
      labels: { [roleLabel('worker')]: '' },
      annotations: {
        [NodeAnnotations.CurrentConfig]: current,
        [NodeAnnotations.DesiredConfig]: desired,
        [NodeAnnotations.State]: state ?? (current === desired ? 'Done' : 'Working'),
      },
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {},
    status: { conditions },
  });
}

const withConditions = (...conditions: [type: string, status: ConditionStatus][]): Node =>
  partial<Node>({
    metadata: { name: 'n' },
    spec: {},
    status: { conditions: conditions.map(([type, status]) => ({ type, status })) },
  });

test('a node is ready without bad conditions, also if Ready is absent [N2, N3, N1]', () => {
  const ready = [
    [['Ready', 'True']],
    [['DiskPressure', 'False']],
    [
      ['Ready', 'True'],
      ['DiskPressure', 'False'],
    ],
    [],
  ];
  const not = [
    [['Ready', 'False']],
    [['DiskPressure', 'True']],
    [
      ['Ready', 'True'],
      ['DiskPressure', 'True'],
    ],
  ];
  for (const conditions of ready)
    expect(isReady(withConditions(...(conditions as [string, ConditionStatus][])))).toBe(true);
  for (const conditions of not)
    expect(isReady(withConditions(...(conditions as [string, ConditionStatus][])))).toBe(false);
  expect(isReady({ ...withConditions(), spec: { unschedulable: true } } as Node)).toBe(false);
});

test('a node is unavailable during an update, if it is not Ready, or with a desired image [N9, N10, N5]', () => {
  expect([].filter(isUnavailable)).toEqual([]);
  const nodes = [at('n0', 'V0', 'V1'), at('n1', 'V1', 'V1'), at('n2', 'V1', 'V1', 'NR')];
  expect(names(nodes.filter(isUnavailable))).toEqual(['n0', 'n2']);
  const imaged = at('n', 'V0', 'V0');
  imaged.metadata.annotations = { ...imaged.metadata.annotations, [NodeAnnotations.DesiredImage]: 'i' };
  expect(isUnavailable(imaged)).toBe(true);
});

const done = (count: number) => Array.from({ length: count }, (_, index) => at(`d${index}`, 'V1', 'V1'));
const old = (...ids: string[]) => ids.map((id) => at(id, 'V0', 'V0'));

test.each<[row: string, max: number, nodes: Node[], chosen: string[], also: string[], capacity: number]>([
  ['C1', 1, done(3), [], [], 1],
  ['C2', 1, [...done(2), at('x', 'V1', 'V1', 'NR')], [], [], 0],
  ['C3', 1, [...done(1), at('x', 'V1', 'V1', 'NR'), at('y', 'V0', 'V1')], [], [], 0],
  ['C4', 2, [at('n0', 'V0', 'V0', 'NR'), ...old('n1', 'n2')], ['n1'], ['n2'], 1],
  ['C5', 3, [...done(1), at('n1', 'V1', 'V1', 'NR'), at('n2', 'V0', 'V1'), ...old('n3', 'n4')], ['n3'], ['n4'], 1],
  ['C6', 1, [...done(2), at('n2', 'V0', 'V1'), ...old('n3', 'n4')], [], [], 0],
  ['C7', 1, [...done(1), at('n1', 'v0.1', 'v0.2', 'R', 'Degraded'), ...old('n2')], ['n1'], ['n2'], 1],
  ['C8', 1, [...done(1), at('n1', 'V1', 'V1', 'R', 'Degraded'), ...old('n2')], [], [], 0],
  ['C9', 1, [...done(3), at('n2', 'V1', 'V2', 'R', 'Degraded')], ['n2'], [], 1],
  ['C10', 1, [...done(2), at('n2', 'V1', 'V2', 'R', 'Done')], [], [], 0],
  [
    'C11',
    4,
    [...done(3), at('n1', 'V1', 'V1', 'NR'), at('n2', 'V0', 'V1'), ...old('n3', 'n4', 'n5', 'n6')],
    ['n3', 'n4'],
    ['n5', 'n6'],
    2,
  ],
  ['C12', 1, [at('n0', 'V0', 'V1', 'R', 'Degraded'), ...old('n1')], [], [], 0],
  ['C13', 2, [at('n0', 'V0', 'V1', 'R', 'Degraded'), ...old('n1', 'n2')], ['n1'], ['n2'], 1],
])('%s candidates', (_row, max, nodes, chosen, also, capacity) => {
  const found = candidatesOf(pool('worker'), nodes, max);
  const taken = names(found.capacity === 0 ? [] : chooseNodes(found.nodes, found.capacity));
  expect([taken, names(found.nodes).filter((name) => !taken.includes(name)), found.capacity]).toEqual([
    chosen,
    also,
    capacity,
  ]);
});

test.each([5, 3])(
  'with enough capacity for all candidates, here %i, they get the target in the given order, in any zones [C16]',
  (max) => {
    const nodes = old('n2', 'n0', 'n1').map((node, index) => ({
      ...node,
      metadata: { ...node.metadata, labels: { 'topology.kubernetes.io/zone': `z${9 - index}` } },
    }));
    const found = candidatesOf(pool('worker'), nodes, max);
    expect([names(chooseNodes(found.nodes, found.capacity)), found.capacity]).toEqual([['n2', 'n0', 'n1'], max]);
  },
);

test('nodes are ordered by zone in byte order and then by age, and nodes without a zone are last [C15]', () => {
  const zoned = (name: string, zone: string | undefined, day: number): Node => {
    const one = at(name, 'V0', 'V0');
    one.metadata.creationTimestamp = `2026-01-0${day}T00:00:00Z`;
    if (zone !== undefined) one.metadata.labels = { 'topology.kubernetes.io/zone': zone };
    return one;
  };
  const nodes = [
    ...[zoned('z2', 'ZZZ', 2), zoned('z3', 'ZZZ', 3), zoned('z1', 'ZZZ', 1), zoned('r2', 'RRR', 2)],
    ...[
      zoned('n2', undefined, 2),
      zoned('r1', 'RRR', 1),
      zoned('n3', undefined, 3),
      zoned('n1', undefined, 1),
      zoned('q', 'QQQ', 5),
    ],
  ];
  expect(names(byZoneAndAge(nodes))).toEqual(['q', 'r1', 'r2', 'z1', 'z2', 'z3', 'n1', 'n2', 'n3']);
});

test('the operator’s node waits unless it is the only candidate [C17] [C18]', () => {
  const operator = deferOperatorNode([{ spec: { nodeName: 'n0' } } as never]);
  expect(operator(pool('master'), old('n0', 'n1', 'n2')).map((one) => one.node.metadata.name)).toEqual(['n0']);
  expect(operator(pool('master'), old('n0'))).toEqual([]);
});

const NOW = '2026-02-01T00:00:00Z';
const snapshot = (one: MachineConfigPool, nodes: readonly Node[]) => ({
  pool: one,
  pools: [one],
  nodes,
  now: NOW,
  machineConfig: () => undefined,
  controllerConfig: { metadata: { name: 'machine-config-controller' } } as never,
});

const three = (...nodes: Node[]) => nodes;
test.each<
  [row: string, nodes: Node[], counts: [m: number, u: number, r: number, x: number, g: number], updating: string]
>([
  ['S1', old('a', 'b', 'c'), [3, 0, 0, 0, 0], 'True'],
  ['S2', three(at('a', 'V0', 'V1'), ...old('b', 'c')), [3, 0, 0, 1, 0], 'True'],
  ['S4', three(at('a', 'V0', 'V1', 'NR'), ...old('b', 'c')), [3, 0, 0, 1, 0], 'True'],
  ['S6', three(at('a', 'V1', 'V1', 'NR'), ...old('b', 'c')), [3, 1, 0, 1, 0], 'True'],
  ['S7', three(at('a', 'V1', 'V1'), at('b', 'V0', 'V1'), at('c', 'V0', 'V1')), [3, 1, 1, 2, 0], 'True'],
  ['S8', done(3), [3, 3, 3, 0, 0], 'False'],
  ['S9', three(at('a', 'V0', 'V0'), at('b', 'V1', 'V1'), at('c', 'V0', 'V1')), [3, 1, 1, 1, 0], 'True'],
  ['S10', three(at('a', 'V0', 'V1'), ...done(2)), [3, 2, 2, 1, 0], 'True'],
  ['S11', three(at('a', 'V0', 'V1'), at('b', 'V1', 'V1'), at('c', 'V1', 'V1', 'NR')), [3, 2, 1, 2, 0], 'True'],
  [
    'S13',
    three(at('a', 'V1', 'V0', undefined, 'Degraded'), at('b', 'V1', 'V0', undefined, 'Unreconcilable')),
    [2, 0, 0, 0, 2],
    'True',
  ],
])('%s status', (_row, nodes, [m, u, r, x, g], updating) => {
  const status = poolStatus(pool('worker'), nodes, NOW);
  expect(status).toMatchObject({
    machineCount: m,
    updatedMachineCount: u,
    readyMachineCount: r,
    unavailableMachineCount: x,
    degradedMachineCount: g,
  });
  const find = (type: string) => status.conditions?.find((one) => one.type === type);
  expect([find('Updating')?.status, find('Updated')?.status]).toEqual([
    updating,
    updating === 'True' ? 'False' : 'True',
  ]);
  expect(find('Degraded')?.status).toBe(g > 0 ? 'True' : 'False');
});

test('a paused pool reports the pause [S3]', () => {
  const { conditions } = poolStatus(pool('worker', { paused: true }), old('a'), NOW);
  expect(conditions?.find(({ type }) => type === 'Updating')).toMatchObject({
    status: 'False',
    message: 'Pool is paused; will not update to MachineConfig V1',
  });
});

test('the completed configuration is updated, also when only its sources differ [S8] [S16]', () => {
  const before = { ...pool('worker'), status: { configuration: { name: 'V1', source: [{ name: 'other' }] } } };
  expect(poolStatus(before as MachineConfigPool, done(1), NOW).configuration).toEqual(before.spec?.configuration);
});

test('a pool can be Updated and Degraded when the rendering failed [S15]', () => {
  const conditions = [{ type: 'RenderDegraded', status: 'True' as const, message: 'x' }];
  const status = poolStatus({ ...pool('worker'), status: { conditions } }, done(2), NOW);
  const find = (type: string) => status.conditions?.find((one) => one.type === type);
  expect(find('Updated')?.status).toBe('True');
  expect(find('Degraded')).toMatchObject({ status: 'True', message: '' });
});

test('a node that waits gets the target and the taint, and an updated node loses the taint [A1] [A5] [A6]', () => {
  const plan = planPool(snapshot(pool('worker'), old('a')));
  expect(plan.nodes).toEqual([
    {
      name: 'a',
      annotations: { [NodeAnnotations.DesiredConfig]: 'V1' },
      labels: {},
      taints: [{ key: 'UpdateInProgress', effect: 'PreferNoSchedule' }],
    },
  ]);
  const tainted = at('b', 'V1', 'V1');
  tainted.spec.taints = [
    { key: 'x', effect: 'NoSchedule' },
    { key: 'UpdateInProgress', effect: 'PreferNoSchedule' },
  ];
  expect(planPool(snapshot(pool('worker'), [tainted])).nodes[0]?.taints).toEqual([{ key: 'x', effect: 'NoSchedule' }]);
});

test('a plan without changes writes nothing [A9] [A10]', () => {
  const going = planPool(snapshot(pool('worker'), [at('a', 'V1', 'V1'), at('b', 'V0', 'V1')]));
  expect([going.nodes, going.status?.updatedMachineCount, going.status?.unavailableMachineCount]).toEqual([[], 1, 1]);
  const nodes = [at('a', 'V1', 'V1'), at('b', 'V1', 'V1')];
  const one = pool('worker');
  const first = planPool(snapshot(one, nodes));
  expect(first.nodes).toEqual([]);
  expect(planPool(snapshot({ ...one, status: first.status ?? {} }, nodes))).toMatchObject({ nodes: [], events: [] });
  expect(planPool(snapshot({ ...one, status: first.status ?? {} }, nodes)).status).toBeUndefined();
});

test('a node without annotations gets its topology and does not end the process', () => {
  const bare = partial<Node>({ metadata: { name: 'n', labels: { [roleLabel('worker')]: '' } }, spec: {} });
  const controllerConfig = {
    metadata: {},
    spec: { infra: { status: { controlPlaneTopology: 'HighlyAvailable' } } },
  } as never;
  const [write] = planPool({ ...snapshot(pool('worker'), [bare]), controllerConfig }).nodes;
  expect(write?.annotations[NodeAnnotations.ControlPlaneTopology]).toBe('HighlyAvailable');
});

test('master, worker and arbiter are not custom pools for rendering; for membership an arbiter is one [P18]', () => {
  expect(['master', 'worker', 'arbiter', 'infra'].map((name) => followsWorkers(pool(name)))).toEqual([
    ...[false, false, false, true],
  ]);
  const claimed = node('n', ['arbiter', 'infra']);
  expect(() => poolsOfNode(claimed, [pool('arbiter'), pool('infra')])).toThrow('belongs to 2 custom roles');
});

test('a node that is not Ready is unavailable although it has its config [N7]', () => {
  const nodes = [at('n0', 'V1', 'V1'), at('n1', 'V1', 'V1', 'NR'), at('n2', 'V0', 'V1')];
  expect(names(nodes.filter(isUnavailable))).toEqual(['n1', 'n2']);
});

test('degraded nodes with the target are unavailable, and so are those with an update to another one [S12]', () => {
  const target = pool('worker', { configuration: { name: 'V0' } });
  const nodes = [
    at('a', 'V0', 'V0', undefined, 'Degraded'),
    at('b', 'V0', 'V0'),
    at('c', 'V0', 'V0', undefined, 'Unreconcilable'),
    at('d', 'V0', 'V1', undefined, 'Working'),
    at('e', 'V0', 'V1', undefined, 'Rebooting'),
  ];
  expect(poolStatus(target, nodes, NOW)).toMatchObject({
    machineCount: 5,
    updatedMachineCount: 1,
    readyMachineCount: 1,
    unavailableMachineCount: 4,
    degradedMachineCount: 2,
  });
});

test('a node that an administrator cordoned takes a slot [trap 10]', () => {
  const cordoned = at('x', 'V1', 'V1');
  const nodes = [{ ...cordoned, spec: { unschedulable: true } }, ...old('y')];
  expect(candidatesOf(pool('worker'), nodes, 1)).toMatchObject({ nodes: [], capacity: 0 });
  expect(names(candidatesOf(pool('worker'), nodes, 2).nodes)).toEqual(['y']);
});

test('a node without annotations of a daemon counts as unavailable, which the status shows [trap 11]', () => {
  const bare = partial<Node>({ metadata: { name: 'x', labels: {} }, spec: {} });
  expect(isUnavailable(bare)).toBe(true);
  expect(poolStatus(pool('worker'), [bare, ...done(1)], NOW)).toMatchObject({
    machineCount: 2,
    unavailableMachineCount: 1,
    readyMachineCount: 1,
  });
});

test('an empty pool is updated, but not while one of its references is unresolved [trap 12]', () => {
  const updated = (facts: object) =>
    poolStatus(pool('worker'), [], NOW, facts).conditions?.find(({ type }) => type === 'Updated')?.status;
  expect(updated({})).toBe('True');
  expect(updated({ unresolved: 'MachineDeployment default/x is not found' })).toBe('False');
});

test('keys and states are those of the original and case-sensitive, and Ready nodes with another config count only under the old name', () => {
  const key = (name: string) => `machineconfiguration.openshift.io/${name}`;
  const said = (state: string) =>
    partial<Node>({
      metadata: {
        name: 'n',
        annotations: { [key('currentConfig')]: 'V1', [key('desiredConfig')]: 'V1', [key('state')]: state },
      },
    });
  expect(['Done', 'done', 'Working', 'Degraded'].map((state) => isUnavailable(said(state)))).toEqual([
    false,
    true,
    true,
    true,
  ]);
  const { readyMachineCount, readyMachines } = poolStatus(pool('worker'), old('a', 'b', 'c'), NOW);
  expect([readyMachineCount, readyMachines]).toEqual([0, 3]);
});

test('the message about nodes is the same for any order of the cache', () => {
  const sick = ['b', 'a', 'c'].map((name) => at(name, 'V0', 'V1', 'R', 'Degraded'));
  const said = (nodes: readonly Node[]) => poolStatus(pool('worker'), nodes, NOW).conditions;
  expect(JSON.stringify(said(sick.toReversed()))).toBe(JSON.stringify(said(sick)));
});

test('the status keeps the conditions of other clients [trap 15]', () => {
  const own = pool('worker');
  const foreign = { type: 'PinnedImageSetsDegraded', status: 'True' as const, lastTransitionTime: NOW };
  own.status = { conditions: [foreign, { ...foreign, type: 'RenderDegraded' }] };
  expect(poolStatus(own, done(1), NOW).conditions?.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['PinnedImageSetsDegraded', 'RenderDegraded', 'Updated']),
  );
});
