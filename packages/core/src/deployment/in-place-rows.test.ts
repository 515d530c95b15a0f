import { Annotations, Labels, type Machine, type MachinePhase, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { deployment, machine, NOW, set } from '../set/test-objects.ts';
import { movePatch, planInPlaceUpdate } from './in-place/in-place.ts';
import { NO_NODES } from './in-place/in-place-step.ts';
import { planRollout } from './plan.ts';
import type { InPlaceSnapshot } from './state/in-place-snapshot.ts';
import { nodeMarks } from './state/node-marks.ts';

type Mark = 'c' | 's' | 'successful' | 'failed';

interface Given {
  readonly phase?: MachinePhase;
  readonly marks?: readonly Mark[];
  readonly reason?: string;
  readonly moved?: boolean;
  readonly deleting?: boolean;
}

const nodeLabels = (marks: readonly Mark[]): Record<string, string> => ({
  ...(marks.includes('c') ? { [Labels.CandidateForUpdate]: 'true' } : {}),
  ...(marks.includes('s') ? { [Labels.SelectedForUpdate]: 'true' } : {}),
  ...Object.fromEntries(
    marks.filter((mark) => mark === 'successful' || mark === 'failed').map((mark) => [Labels.UpdateResult, mark]),
  ),
});

const oldSet = (name: string, replicas: number, age = 60): MachineSet =>
  set(name, replicas, { age, className: 'former', labels: { [Labels.ScaleUpDisabled]: 'true' } });

class Fleet {
  readonly nodes = new Map<string, Node>();

  addMachines(of: MachineSet, machines: readonly Given[]) {
    const made = machines.map((given, index): Machine => {
      const name = `${of.metadata.name}-${index}`;
      if (given.marks) this.#node(name, given.marks);
      const base = machine(name, {
        owner: of,
        phase: given.phase ?? 'Running',
        ...(given.deleting ? { deleting: true } : {}),
        labels: {
          'machine-template-hash': of.metadata.name,
          ...(given.marks ? { [Labels.Node]: name } : {}),
          ...(given.moved ? { [Labels.UpdateResult]: 'successful' } : {}),
        },
      });
      const conditions = given.reason ? [{ type: 'InPlaceUpdate', status: 'True' as const, reason: given.reason }] : [];
      return { ...base, status: { ...base.status, conditions } };
    });
    return { set: of, machines: made };
  }

  #node(name: string, marks: readonly Mark[]): void {
    this.nodes.set(name, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        uid: `uid-${name}`,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: nodeLabels(marks),
      },
      spec: {},
    });
  }
}

const running = (count: number, marks: readonly Mark[] = []): Given[] =>
  Array.from({ length: count }, () => ({ marks }));
const updated: Given = {
  phase: 'InPlaceUpdateSuccessful',
  marks: ['c', 's', 'successful'],
  reason: 'UpdateSuccessful',
};

function plan(
  old: readonly [replicas: number, machines: readonly Given[]],
  current: readonly [replicas: number, machines: readonly Given[]],
  change: Partial<InPlaceSnapshot> = {},
) {
  const fleet = new Fleet();
  const step = planInPlaceUpdate({
    current: fleet.addMachines(set('new', current[0]), current[1]),
    old: [fleet.addMachines(oldSet('old', old[0]), old[1])],
    replicas: 3,
    surge: 0,
    unavailable: 1,
    manual: false,
    nodeOf: (name) => fleet.nodes.get(name),
    ...change,
  });
  return {
    ...step,
    resized: Object.fromEntries(step.resize),
    selected: step.work.nodes
      .filter(({ node }) => node.metadata.labels?.[Labels.SelectedForUpdate] === undefined)
      .filter(({ change: { metadata } }) => metadata?.labels?.[Labels.SelectedForUpdate] === 'true')
      .map(({ node }) => node.metadata.name),
    moved: step.work.machines.map(({ machine: { metadata } }) => metadata.name),
  };
}

describe('rules of section 5 without an id', () => {
  test.each<[string, Given, readonly string[]]>([
    ['all of it', updated, ['old-0']],
    ['no node', { phase: 'InPlaceUpdateSuccessful', reason: 'UpdateSuccessful' }, []],
    ['no result on the node', { ...updated, marks: ['c', 's'] }, []],
    ['a failure on the node', { ...updated, marks: ['c', 's', 'failed'] }, []],
    ['another reason', { ...updated, reason: 'ReadyForUpdate' }, []],
    ['the phase of the update', { ...updated, phase: 'InPlaceUpdating' }, []],
    ['a machine that is already Running again', { ...updated, phase: 'Running' }, ['old-0']],
  ])(
    '5.5 a machine moves only if node, condition, label and phase show the end of its update: %s',
    (_title, given, moved) => {
      expect(plan([1, [given]], [2, running(2)]).moved).toEqual(moved);
    },
  );

  test('surplus old machines are deleted as far as current machines are available [P-14]', () => {
    const rest: Given = { phase: 'Pending', marks: [] };
    const after = (current: readonly Given[], change: Partial<InPlaceSnapshot> = {}) =>
      plan([2, running(2)], [3, current], { surge: 2, unavailable: 0, ...change }).resized;
    expect(after(running(3))).toEqual({ old: 0 });
    expect(after([...running(2), rest])).toEqual({ old: 1 });
    expect(after([...running(1), rest, rest])).toEqual({});
    expect(after(running(3), { repairsFirst: true })).toEqual({});
  });

  test('while a failed machine waits, no node is selected; earlier selections resume within the budget', () => {
    const candidates = [
      [2, running(2, ['c'])],
      [1, running(1)],
    ] as const;
    expect(plan(...candidates).selected).toEqual(['old-0']);
    expect(plan(...candidates, { repairsFirst: true }).selected).toEqual([]);
  });
});

describe('sizes follow the machines', () => {
  test('without moved machines the current set keeps its size [P-01]', () => {
    expect(plan([2, running(2)], [3, running(3)]).resized).not.toHaveProperty('new');
  });
  test('a moved machine is counted, then loses its mark, and its node accepts pods again [P-02]', () => {
    const machines = [...running(2), { ...updated, moved: true }];
    expect(plan([2, running(2)], [2, machines], { surge: 2 })).toMatchObject({ resized: { new: 3 }, moved: [] });
    const next = plan([2, running(2)], [3, machines], { surge: 2, replicas: 3 });
    expect(next.work.machines.map(({ body }) => body)).toEqual([
      { metadata: { uid: 'uid-new-2', labels: { [Labels.UpdateResult]: null } } },
    ]);
    expect(next.work.nodes).toMatchObject([
      {
        node: { metadata: { name: 'new-2' } },
        change: {
          metadata: {
            labels: {
              [Labels.CandidateForUpdate]: null,
              [Labels.SelectedForUpdate]: null,
              [Labels.UpdateResult]: null,
            },
          },
          spec: { unschedulable: false },
        },
      },
    ]);
  });
  test('machines that were not moved do not increase a set [P-01]', () => {
    expect(plan([0, []], [2, running(3)], { replicas: 2 }).resized).toEqual({});
    const going: Given = { ...updated, moved: true, deleting: true };
    expect(plan([0, []], [2, [...running(3), going]], { replicas: 2 }).resized).toEqual({});
  });
  test('a set shrinks when its machine leaves it [P-03]', () => {
    expect(plan([2, running(1)], [3, running(3)]).resized).toEqual({ old: 1 });
  });
  test('only the taint of mcm is removed, critical components are awaited, and the earlier failure reason is removed [P-05]', () => {
    const fleet = new Fleet();
    const current = fleet.addMachines(set('new', 1), [updated]);
    const node = fleet.nodes.get('new-0');
    if (!node) throw new Error('no node');
    const other = { key: 'a', value: 'b', effect: 'NoSchedule' as const };
    const awaited = { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' as const };
    const namesake = { ...awaited, effect: 'NoExecute' as const };
    const ours = {
      key: 'deployment.machine.sapcloud.io/prefer-no-schedule',
      value: 'True',
      effect: 'PreferNoSchedule' as const,
    };
    fleet.nodes.set('new-0', { ...node, spec: { taints: [ours, awaited, other, namesake], unschedulable: true } });
    const o = { current, old: [], replicas: 1, surge: 0, unavailable: 1, manual: false };
    const { work } = planInPlaceUpdate({ ...o, nodeOf: (name) => fleet.nodes.get(name) });
    expect(work.nodes[0]?.change).toMatchObject({
      metadata: { annotations: { [Annotations.UpdateFailedReason]: null } },
      spec: {
        unschedulable: false,
        taints: [other, namesake, awaited],
      },
    });
  });
  test('a machine that is joining, or without a node, does not delay the others [BUG-6]', () => {
    const step = plan([2, running(2, ['c'])], [1, [{ phase: 'Pending' }]], { unavailable: 2 });
    expect(step.selected).toHaveLength(1);
  });
});

describe('the current set', () => {
  test.each([
    ['P-06 has all', [2, running(2)], [3, running(3)], { old: 0 }],
    ['P-06 has too many replicas', [2, running(2)], [4, running(4)], { new: 3 }],
    ['P-06 is the only set', [0, []], [1, running(1)], { new: 3 }],
    ['P-06 gets the missing replicas', [1, running(1)], [1, running(1)], { new: 2 }],
  ] as const)('%s', (_title, old, current, resized) => expect(plan(old, current).resized).toEqual(resized));

  test('an updated machine moves, then the sizes follow [P-07]', () => {
    const step = plan([2, [updated, ...running(1, ['c'])]], [1, running(1)]);
    expect([step.moved, step.resized, step.selected]).toEqual([['old-0'], {}, []]);
    const after = plan([2, running(1, ['c'])], [1, [...running(1), { ...updated, moved: true }]]);
    expect(after.resized).toEqual({ old: 1, new: 2 });
  });
  test('a machine does not move before its machine controller has read the result', () => {
    const early: Given = { ...updated, phase: 'InPlaceUpdating' };
    expect(plan([2, [early, ...running(1, ['c'])]], [1, running(1)]).moved).toEqual([]);
    const untold: Given = { ...updated, reason: 'ReadyForUpdate' };
    expect(plan([2, [untold, ...running(1, ['c'])]], [1, running(1)]).moved).toEqual([]);
  });
  test('a move changes only the hash and the owner [P-09]', () => {
    const from = set('old', 1, { hash: 'OLD' });
    const moved = machine('m', { owner: from, labels: { name: 'x', 'machine-template-hash': 'OLD', node: 'n' } });
    expect(movePatch(moved, from, set('new', 1, { hash: 'NEW' }))).toEqual({
      metadata: {
        uid: 'uid-m',
        resourceVersion: moved.metadata.resourceVersion,
        ownerReferences: [
          {
            apiVersion: 'machine.sapcloud.io/v1alpha1',
            kind: 'MachineSet',
            name: 'new',
            uid: 'uid-new',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
        labels: { app: 'pool', 'machine-template-hash': 'NEW', [Labels.UpdateResult]: 'successful' },
      },
    });
  });
});

describe('selection', () => {
  test.each<[string, Parameters<typeof plan>, readonly string[], object]>([
    [
      'P-10 there is no candidate',
      [
        [2, running(2)],
        [1, running(1)],
      ],
      [],
      {},
    ],
    [
      'P-11 the new machine is not available',
      [
        [2, [...running(1, ['c']), ...running(1)]],
        [1, [{ phase: 'Pending' }]],
      ],
      [],
      {},
    ],
    [
      'P-12 one update is in progress',
      [
        [2, [...running(1, ['c', 's']), ...running(1)]],
        [1, running(1)],
      ],
      [],
      {},
    ],
    [
      'P-13 two candidates, and one may be unavailable',
      [
        [2, running(2, ['c'])],
        [1, running(1)],
      ],
      ['old-0'],
      {},
    ],
    [
      'P-14 all replicas exist: the surplus is deleted',
      [
        [2, running(2)],
        [3, running(3)],
      ],
      [],
      { old: 0 },
    ],
    ['P-22 by hand', [[3, running(3, ['c'])], [0, []], { manual: true }], [], {}],
    [
      'P-24 a failed update still counts as in progress',
      [
        [
          3,
          [{ phase: 'InPlaceUpdateFailed', marks: ['c', 's', 'failed'], reason: 'UpdateFailed' }, ...running(2, ['c'])],
        ],
        [0, []],
      ],
      [],
      {},
    ],
  ])('%s', (_title, given, selected, resized) => {
    const step = plan(...given);
    expect([step.selected, step.resized]).toEqual([selected, resized]);
  });

  test('without updates in progress the quota is maxUnavailable [P-16]', () => {
    expect(plan([3, running(3, ['c'])], [0, []], { unavailable: 2 }).selected).toEqual(['old-0', 'old-1']);
  });

  test.each<[string, readonly Given[], number]>([
    ['P-17 no node is selected', running(2, ['c']), 2],
    ['P-17 one of two nodes', [...running(1, ['c', 's']), ...running(1, ['c'])], 1],
    ['P-17 both', running(2, ['c', 's']), 0],
    ['P-17 there are no nodes', [], 0],
  ])('%s: updates in progress use the quota', (_title, machines, room) => {
    const step = plan([machines.length, machines], [3 - machines.length, running(3 - machines.length)], {
      unavailable: 2,
      surge: 3,
    });
    expect(step.selected).toHaveLength(room);
  });

  test.each<[string, readonly Given[], number, readonly string[]]>([
    ['P-18 one node is already selected', [...running(1, ['c']), ...running(1, ['c', 's'])], 2, ['old-0']],
    ['P-19 both', running(2, ['c']), 2, ['old-0', 'old-1']],
    ['P-19 one', running(2, ['c']), 1, ['old-0']],
    ['P-20 one machine has no node', [...running(1, ['c']), {}], 2, ['old-0']],
    ['P-20 both nodes are selected', running(2, ['c', 's']), 2, []],
    ['P-20 the only machine has no node', [{}], 1, []],
  ])('%s', (_title, machines, unavailable, selected) => {
    const rest = 3 - machines.length;
    const step = plan([machines.length, machines], [rest, running(rest)], { unavailable, surge: 3 });
    expect(step.selected).toEqual(selected);
  });

  test('candidates that are already marked still wait until they are selected', () => {
    const reported: Given = { marks: ['c'], reason: 'CandidateForUpdate' };
    expect(plan([3, [reported, reported, reported]], [0, []]).selected).toEqual(['old-0']);
  });

  test('machines above the size of their set do not count as available, because they are being deleted', () => {
    const updating: Given = { phase: 'InPlaceUpdating', marks: ['c', 's'], reason: 'ReadyForUpdate' };
    expect(plan([2, [updating, ...running(2, ['c'])]], [1, running(1)]).selected).toEqual([]);
    const scaled = plan([2, running(3, ['c'])], [2, [...running(1), { phase: 'Pending' }]], {
      replicas: 4,
      unavailable: 2,
    });
    expect(scaled.selected).toEqual(['old-0']);
  });

  test('a selection is removed from an updated node, but not from one that terminates or has just joined', () => {
    const left = (given: Given) =>
      plan([0, []], [3, [...running(2), given]]).work.leftovers?.map(({ node }) => node.metadata.name);
    expect(left({ marks: ['s'] })).toEqual(['new-2']);
    expect(left({ marks: ['s'], deleting: true })).toEqual([]);
    expect(left({ marks: ['s'], moved: true })).toEqual([]);
  });

  test('nodes of the oldest set are selected first', () => {
    const fleet = new Fleet();
    const old = [
      fleet.addMachines(oldSet('young', 1, 10), running(1, ['c'])),
      fleet.addMachines(oldSet('aged', 1, 90), running(1, ['c'])),
    ];
    const current = fleet.addMachines(set('new', 1), running(1));
    const { work } = planInPlaceUpdate({
      current,
      old,
      replicas: 3,
      surge: 0,
      unavailable: 1,
      manual: false,
      nodeOf: (name) => fleet.nodes.get(name),
    });
    expect(work.nodes.map(({ node }) => node.metadata.name)).toEqual(['aged-0']);
  });
});

test('nodes with old machines become candidates once [P-21]', () => {
  const fleet = new Fleet();
  const { set: old, machines } = fleet.addMachines(oldSet('old', 2), [...running(1), ...running(1, ['c']), {}]);
  const marks = nodeMarks(
    { taint: [], untaint: [], protect: [], unprotect: [], candidates: [old] },
    () => machines,
    (name) => fleet.nodes.get(name),
    { protection: true },
  );
  expect(marks.map(({ node, change }) => [node.metadata.name, change])).toEqual([
    ['old-0', { metadata: { labels: { [Labels.CandidateForUpdate]: 'true' } } }],
  ]);
});

test('without a target cluster nothing happens, and the deployment reports the reason [P-25]', () => {
  const fleet = new Fleet();
  const pool = deployment(1, {
    className: 'large',
    strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType: 'Auto' } },
  });
  const current = set('new', 0, { className: 'large' });
  const { set: old, machines } = fleet.addMachines(oldSet('old', 1), running(1));
  const step = planRollout({
    deployment: pool,
    sets: [current, old],
    machines: new Map([[old.metadata.uid, machines]]),
    creating: () => 0,
    now: NOW,
  });
  expect(step).toMatchObject({
    condition: NO_NODES,
    events: [{ type: 'Warning', reason: 'NoTargetCluster' }],
    create: undefined,
    remove: [],
    inPlace: { machines: [], nodes: [] },
  });
  expect(Object.fromEntries(step.write.map(({ metadata, spec }) => [metadata.name, spec.replicas]))).toEqual({
    new: 0,
    old: 1,
  });
});
