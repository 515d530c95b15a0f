import { Labels, type Machine, Taints } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { set } from '../../set/test-objects.ts';
import type { InPlaceSnapshot, SetWithMachines } from '../state/in-place-snapshot.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';
import { cleaned, movePatch, planInPlaceUpdate } from './in-place.ts';

type SetStates = readonly [replicas: number, states: readonly UpdateState[]];

const NOT_REFILLED = { [Labels.ScaleUpDisabled]: 'true' };
const CANDIDATE: UpdateState = { marks: ['candidate'] };
const SELECTED: UpdateState = { marks: ['candidate', 'selected'], template: 'new' };
const UPDATED: UpdateState = {
  marks: ['candidate', 'selected', 'successful'],
  template: 'new',
  reason: 'UpdateSuccessful',
  phase: 'InPlaceUpdateSuccessful',
};
const EMPTIED: UpdateState = { marks: ['candidate'], template: 'other', reason: 'CandidateForUpdate' };
const READY: UpdateState = {};

function plan(
  old: SetStates,
  current: SetStates,
  change: Partial<InPlaceSnapshot> & { readonly refills?: boolean } = {},
) {
  const { refills = false, ...rest } = change;
  const nodes = new Map<string, Node>();
  const setOf = (name: string, [replicas, states]: SetStates, labels: Record<string, string>): SetWithMachines => ({
    set: set(name, replicas, { labels }),
    machines: states.map((state, index) => {
      nodes.set(`${name}-${index}`, nodeIn(state, `${name}-${index}`));
      return machineIn(state, `${name}-${index}`);
    }),
  });
  const step = planInPlaceUpdate({
    current: setOf('new', current, {}),
    old: [setOf('old', old, refills ? {} : NOT_REFILLED)],
    replicas: 3,
    surge: 0,
    unavailable: 1,
    manual: false,
    nodeOf: (name) => nodes.get(name),
    ...rest,
  });
  const selects = step.work.nodes.filter(
    ({ change: { metadata } }) => metadata?.labels?.[Labels.SelectedForUpdate] === 'true',
  );
  return {
    because: step.because,
    resized: Object.fromEntries(step.resize),
    changed: step.work.nodes.map(({ node }) => node.metadata.name),
    selected: selects.map(({ node }) => node.metadata.name),
    moved: step.work.machines.map(({ machine: { metadata } }) => metadata.name),
  };
}

describe('the reason of a step', () => {
  test.each<[because: string, old: SetStates, current: SetStates, change: Partial<InPlaceSnapshot>]>([
    ['no old machine remains', [0, []], [3, [READY, READY, READY]], {}],
    ['1 node is selected for an update', [3, [CANDIDATE, CANDIDATE, CANDIDATE]], [0, []], {}],
    ['2 nodes are selected for an update', [3, [CANDIDATE, CANDIDATE, CANDIDATE]], [0, []], { unavailable: 2 }],
    ['waiting: a user must select nodes', [3, [CANDIDATE, CANDIDATE, CANDIDATE]], [0, []], { manual: true }],
    ['waiting: the disruption budget is exhausted', [3, [SELECTED, CANDIDATE, CANDIDATE]], [0, []], {}],
    ['setting spec.replicas of each MachineSet to its current number of machines', [3, [READY, READY]], [0, []], {}],
    ['moving updated machines to the current set', [1, [UPDATED]], [2, [READY, READY]], {}],
    [
      'the current set has all replicas: deleting surplus machines',
      [1, [CANDIDATE]],
      [3, [READY, READY, READY]],
      { surge: 1 },
    ],
    [
      'no machine may be unavailable: the current set creates surge machines',
      [3, [CANDIDATE, CANDIDATE, CANDIDATE]],
      [0, []],
      { surge: 1, unavailable: 0 },
    ],
  ])('%s', (because, old, current, change) => {
    expect(plan(old, current, change).because).toBe(because);
  });
});

describe('a machine that was updated', () => {
  test.each<[what: string, state: UpdateState]>([
    ['with the result of an update to another template', { ...UPDATED, template: 'other' }],
    ['that is being deleted', { ...UPDATED, deleting: true }],
  ])('%s does not move', (_what, state) => {
    expect(plan([1, [state]], [2, [READY, READY]]).moved).toEqual([]);
  });

  test('an updated machine does not move from a set that replaces its machines', () => {
    expect(plan([1, [UPDATED]], [2, [READY, READY]]).moved).toEqual(['old-0']);
    expect(plan([1, [UPDATED]], [2, [READY, READY]], { refills: true }).moved).toEqual([]);
  });

  test('an updated machine moves only to a free place in the current set', () => {
    expect(plan([2, [UPDATED, UPDATED]], [2, [READY, READY]], { surge: 1 }).moved).toEqual(['old-0']);
  });

  test('a moved machine keeps its owners that are not controllers', () => {
    const [from, to] = [set('old', 1), set('new', 1)];
    const machine = machineIn(UPDATED);
    const backup = { apiVersion: 'example.com/v1', kind: 'Backup', name: 'b', uid: 'uid-b' };
    const owned = { ...machine, metadata: { ...machine.metadata, ownerReferences: [backup] } };
    expect(movePatch(owned, from, to)).toMatchObject({
      metadata: { ownerReferences: [backup, { kind: 'MachineSet', name: 'new', controller: true }] },
    });
  });

  test('a moved machine loses the mark of its move when its set counts it, unless it is being deleted', () => {
    const moved: UpdateState = { moved: true };
    expect(plan([0, []], [3, [moved, READY, READY]]).moved).toEqual(['new-0']);
    expect(plan([0, []], [3, [{ ...moved, deleting: true }, READY, READY, READY]]).moved).toEqual([]);
  });

  test('a moved machine loses the mark of its move in every step that changes no size of its set', () => {
    const moved: UpdateState = { moved: true };
    expect(plan([1, [CANDIDATE]], [1, [moved]])).toMatchObject({ moved: ['new-0'], resized: { new: 2 } });
    expect(plan([1, [UPDATED]], [2, [moved, READY]]).moved).toEqual(['new-0', 'old-0']);
    const surge = { surge: 1, unavailable: 0 };
    expect(plan([2, [CANDIDATE, CANDIDATE]], [1, [moved]], surge)).toMatchObject({
      moved: ['new-0'],
      resized: { new: 2 },
    });
  });

  test('a moved machine loses the mark of its move if the deployment has no place for it', () => {
    expect(plan([0, []], [3, [READY, READY, READY, { moved: true }]]).moved).toEqual(['new-3']);
  });

  test('a moved machine gets the labels and the owner of its new set instead of those of the former', () => {
    const [from, to] = [set('old', 1), set('new', 1)];
    const { labels, ownerReferences } = (movePatch(machineIn(UPDATED), from, to) as { metadata: Machine['metadata'] })
      .metadata;
    const former = { ...from, spec: { ...from.spec, selector: { matchLabels: { app: 'pool', former: 'x' } } } };
    expect(labels).toEqual({ app: 'pool', 'machine-template-hash': 'new', [Labels.UpdateResult]: 'successful' });
    expect(ownerReferences).toEqual([expect.objectContaining({ kind: 'MachineSet', name: 'new', controller: true })]);
    expect(movePatch(machineIn(UPDATED), former, to)).toMatchObject({
      metadata: { labels: { app: 'pool', former: null, 'machine-template-hash': 'new' } },
    });
  });

  test('the node of another template is cleaned only by its own update', () => {
    const changed = (state: UpdateState) => plan([0, []], [3, [state, READY, READY]]).changed;
    expect(changed(UPDATED)).toEqual(['new-0']);
    expect(changed({ ...UPDATED, deleting: true })).toEqual([]);
    expect(changed({ ...UPDATED, template: 'other', phase: 'InPlaceUpdating' })).toEqual([]);
  });

  test('the node keeps taints whose key or effect differs from those of mcm', () => {
    const ours = { ...Taints.PreferNoSchedule };
    const others = [
      { ...ours, effect: 'NoSchedule' as const },
      { ...ours, key: 'example.com/other' },
    ];
    const node = nodeIn(UPDATED);
    const { spec } = cleaned({ ...node, spec: { taints: [...others, ours] } });
    expect(spec?.taints).toEqual([...others, Taints.CriticalComponentsNotReady]);
  });
});

test('objects without labels, annotations, taints and conditions are handled', () => {
  const bare = (node: Node): Node => {
    const { labels: _, annotations: __, ...metadata } = node.metadata;
    return { ...node, metadata, spec: {} };
  };
  const withoutLabels = ({ set: { metadata, ...rest }, machines }: SetWithMachines): SetWithMachines => {
    const { labels: _, annotations: __, ...others } = metadata;
    return { set: { ...rest, metadata: others }, machines };
  };
  const setOf = (name: string, replicas: number): SetWithMachines =>
    withoutLabels({ set: set(name, replicas), machines: [machineIn(READY, name)] });
  const snapshot = { replicas: 2, surge: 0, unavailable: 1, manual: false };
  const nodeOf = (name: string) => bare(nodeIn(CANDIDATE, name));
  const step = planInPlaceUpdate({ ...snapshot, current: setOf('new', 1), old: [setOf('old', 1)], nodeOf });
  expect(step).toMatchObject({ resize: new Map(), work: { machines: [], nodes: [] } });
  expect(cleaned(bare(nodeIn(UPDATED))).spec?.taints).toEqual([Taints.CriticalComponentsNotReady]);
});

describe('a node whose selection has no template', () => {
  const selected: UpdateState = { marks: ['candidate', 'selected'] };

  test.each<[what: string, state: UpdateState, changed: readonly string[]]>([
    ['gets the current one', selected, ['old-0']],
    ['keeps it while its machine is deleted', { ...selected, deleting: true }, []],
    ['keeps it while its machine moves', { ...selected, moved: true }, []],
  ])('%s', (_what, state, changed) => {
    expect(plan([3, [state, READY, READY]], [0, []]).changed).toEqual(changed);
  });
});

test('a node of the current set that is no longer a candidate is changed before a surge is added', () => {
  const step = plan([2, [CANDIDATE, READY]], [1, [CANDIDATE]], { surge: 1, unavailable: 0 });
  expect([step.changed, step.resized]).toEqual([['new-0'], {}]);
});

describe('nodes that were drained for another template are selected first', () => {
  const rest = [CANDIDATE, CANDIDATE] as const;

  test.each<[what: string, old: readonly UpdateState[], change: Partial<InPlaceSnapshot>, selected: readonly string[]]>(
    [
      ['one', [...rest, EMPTIED], {}, ['old-2']],
      ['all of them', [EMPTIED, EMPTIED, EMPTIED], {}, ['old-0', 'old-1', 'old-2']],
      ['as many as the budget still allows', [EMPTIED, EMPTIED, EMPTIED], { free: 2 }, ['old-0', 'old-1']],
      ['none before failed machines are replaced', [EMPTIED, ...rest], { repairsFirst: true }, []],
      ['none of a machine that is deleted', [{ ...EMPTIED, deleting: true }, ...rest], { unavailable: 2 }, ['old-1']],
      [
        'none before the machine reports that it is a candidate',
        [{ marks: ['candidate'], template: 'other' }, ...rest],
        { unavailable: 2 },
        ['old-1'],
      ],
    ],
  )('%s', (_what, old, change, selected) => {
    expect(plan([old.length, old], [0, []], change).selected).toEqual(selected);
  });

  test('drained nodes are also selected if the current set is complete, unless machines are selected by hand', () => {
    const full: SetStates = [3, [{ phase: 'Pending' }, { phase: 'Pending' }, { phase: 'Pending' }]];
    expect(plan([1, [EMPTIED]], full, { surge: 1 }).selected).toEqual(['old-0']);
    expect(plan([1, [EMPTIED]], full, { surge: 1, manual: true }).selected).toEqual([]);
  });
});

describe('the number of selected nodes', () => {
  const PENDING: UpdateState = { phase: 'Pending' };

  test.each<
    [what: string, old: SetStates, current: SetStates, change: Partial<InPlaceSnapshot>, selected: readonly string[]]
  >([
    [
      'counts emptied nodes as unavailable',
      [3, [{ ...EMPTIED, reason: undefined }, CANDIDATE, CANDIDATE]],
      [0, []],
      {},
      [],
    ],
    [
      'never includes a machine that is deleted',
      [3, [{ ...CANDIDATE, deleting: true }, CANDIDATE, CANDIDATE]],
      [0, []],
      { unavailable: 2 },
      ['old-1'],
    ],
    [
      'does not count a selection that is left on a current node',
      [2, [CANDIDATE, CANDIDATE]],
      [1, [{ marks: ['selected'] }]],
      {},
      ['old-0'],
    ],
    [
      'counts selected machines that are available',
      [3, [SELECTED, PENDING, CANDIDATE]],
      [1, [READY]],
      { replicas: 4, unavailable: 2 },
      [],
    ],
    [
      'counts current machines that are unavailable',
      [2, [{ ...SELECTED, phase: 'InPlaceUpdating' }, CANDIDATE, CANDIDATE]],
      [2, [READY, PENDING]],
      { replicas: 4, unavailable: 2 },
      [],
    ],
    ['keeps the ceiling of an unproven template', [2, [CANDIDATE, CANDIDATE]], [1, [READY]], { ceiling: 1 }, []],
    [
      'keeps the ceiling together with nodes in update',
      [2, [SELECTED, CANDIDATE]],
      [1, [READY]],
      { ceiling: 2, unavailable: 3 },
      [],
    ],
    [
      'ignores a ceiling above the replicas',
      [2, [CANDIDATE, CANDIDATE]],
      [1, [READY]],
      { ceiling: 9, unavailable: 3 },
      ['old-0', 'old-1'],
    ],
  ])('%s', (_what, old, current, change, selected) => {
    expect(plan(old, current, change).selected).toEqual(selected);
  });
});
