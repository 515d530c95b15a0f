import { Annotations, Labels, type MachineDeployment, type MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { deployment, NOW, set } from '../../set/test-objects.ts';
import { planRollout } from '../plan.ts';
import { machineIn, nodeIn, type UpdateState } from '../testing/updated-machine.ts';
import { NO_NODES } from './in-place-step.ts';

type Condition = NonNullable<NonNullable<MachineDeployment['status']>['conditions']>[number];

const pool = (
  replicas: number,
  conditions: readonly Condition[] = [],
  orchestrationType = 'Auto',
): MachineDeployment => {
  const made = deployment(replicas, {
    className: 'large',
    strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 0, maxUnavailable: 1, orchestrationType } },
  } as Parameters<typeof deployment>[1]);
  return conditions.length > 0 ? { ...made, status: { conditions: [...conditions] } } : made;
};
const oldSet = (replicas: number): MachineSet =>
  set('old', replicas, { age: 90, className: 'former', labels: { [Labels.ScaleUpDisabled]: 'true' } });
const newSet = (replicas: number): MachineSet => set('new', replicas, { className: 'large' });

const step = (given: MachineDeployment, states: readonly UpdateState[], change: object = {}) => {
  const old = oldSet(states.length);
  const nodes = new Map<string, Node>(states.map((state, index) => [`m${index}`, nodeIn(state, `m${index}`)]));
  return planRollout({
    deployment: given,
    sets: [newSet(0), old],
    machines: new Map([[old.metadata.uid, states.map((state, index) => machineIn(state, `m${index}`))]]),
    creating: () => 0,
    nodeOf: (name) => nodes.get(name),
    now: NOW,
    ...change,
  });
};

describe('failed updates', () => {
  const FAILED: UpdateState = {
    marks: ['candidate', 'selected', 'failed'],
    reason: 'UpdateFailed',
    phase: 'InPlaceUpdateFailed',
  };
  const SILENT: UpdateState = { ...FAILED, marks: ['candidate', 'selected'] };
  const REST =
    '. If an update succeeds later, mcm accepts the result. mcm replaces a machine without a successful update after the health timeout, unless the timeout is disabled. To start another update, correct the template.';
  const said = (message: string): Condition =>
    ({ type: 'RolloutBlocked', status: 'True', reason: 'InPlaceUpdateFailed', message }) as Condition;

  test('a rollout without failed updates has no condition RolloutBlocked and no event', () => {
    const { condition, events } = step(pool(2), [{ marks: ['candidate'] }, {}]);
    expect(condition?.reason).not.toBe('InPlaceUpdateFailed');
    expect(events).toEqual([]);
  });

  test.each<[text: string, states: readonly UpdateState[]]>([
    ['m1 (no reason given)', [{}, FAILED]],
    ['m0 (the agent reported no result within the in-place update timeout)', [SILENT, {}]],
    [
      'm0 (no reason given), m1 (the agent reported no result within the in-place update timeout), m2 (no reason given)',
      [FAILED, SILENT, FAILED],
    ],
    [
      'm0 (no reason given), m1 (no reason given), m2 (no reason given) and 2 more',
      [FAILED, FAILED, FAILED, FAILED, FAILED],
    ],
  ])('nodes with failed updates are named with their reasons: %s', (text, states) => {
    const message = `In-place updates failed: ${text}${REST}`;
    const { condition, events } = step(pool(states.length), states);
    expect(condition).toMatchObject({ status: 'True', reason: 'InPlaceUpdateFailed', message });
    expect(events).toEqual([{ type: 'Warning', reason: 'InPlaceUpdateFailed', message }]);
    const again = step(pool(states.length, [said(message)]), states);
    expect([again.condition, again.events]).toEqual([condition, []]);
    expect(step(pool(states.length, [said('another')]), states).events).toEqual(events);
  });

  test('failed updates are listed in the order of their names, with the reason of the agent', () => {
    const failed = nodeIn(FAILED, 'm0');
    const annotations = { [Annotations.UpdateFailedReason]: 'disk full' };
    const nodes = new Map([['m0', { ...failed, metadata: { ...failed.metadata, annotations } }]]);
    const old = oldSet(3);
    const machines = new Map([[old.metadata.uid, ['m2', 'm0', 'm1'].map((name) => machineIn(FAILED, name))]]);
    const { condition } = step(pool(3), [], {
      sets: [newSet(0), old],
      machines,
      nodeOf: (name: string) => nodes.get(name),
    });
    expect(condition?.message).toBe(
      `In-place updates failed: m0 (disk full), m1 (the agent reported no result within the in-place update timeout), m2 (the agent reported no result within the in-place update timeout)${REST}`,
    );
  });
});

describe('without access to the nodes', () => {
  const blind = (changes: object, conditions: readonly Condition[] = []) =>
    step(pool(1, conditions), [{}], { nodeOf: undefined, ...changes });

  test('the rollout waits, and one event gives the reason', () => {
    const { condition, events } = blind({});
    expect(condition).toEqual(NO_NODES);
    expect(events).toHaveLength(1);
    expect(blind({}, [{ ...NO_NODES } as Condition])).toMatchObject({ condition: NO_NODES, events: [] });
  });

  test('the condition distinguishes missing permissions from a missing target cluster', () => {
    const { condition, events } = blind({ nodesUnseen: 'nodes is forbidden' }, [{ ...NO_NODES } as Condition]);
    expect(condition).toMatchObject({ type: 'RolloutBlocked', status: 'True', reason: 'NodesNotReadable' });
    expect(condition?.message).toContain('(nodes is forbidden)');
    expect(events).toHaveLength(1);
  });

  test('a deployment without machines of an older template needs no nodes', () => {
    const current = newSet(2);
    const machines = new Map([[current.metadata.uid, [machineIn({}, 'm0'), machineIn({}, 'm1')]]]);
    const { condition } = step(pool(2), [], { sets: [current], machines, nodeOf: undefined });
    expect(condition?.reason).not.toBe(NO_NODES.reason);
  });
});

describe('the set for a new template', () => {
  const created = (orchestration: string, states: readonly UpdateState[]) => {
    const old = oldSet(states.length);
    const machines = new Map([[old.metadata.uid, states.map((state, index) => machineIn(state, `m${index}`))]]);
    const sets = states.length > 0 ? [old] : [];
    return step(pool(3, [], orchestration), states, { sets, machines }).create?.spec.replicas;
  };

  test.each(['Auto', 'Manual'])(
    'the set for a new template has all replicas when there are no older machines: %s',
    (orchestration) => {
      expect(created(orchestration, [])).toBe(3);
    },
  );

  test.each([
    ['Auto', 1],
    ['Manual', 0],
  ] as const)(
    'the set for a new template has no own machines next to older ones, except for the missing ones of Auto: %s',
    (type, size) => {
      expect(created(type, [{}, {}])).toBe(size);
    },
  );
});

describe('nodes of older machines', () => {
  const CANDIDATE: UpdateState = { marks: ['candidate'], reason: 'CandidateForUpdate' };
  const selected = (type: string) =>
    step(pool(2, [], type), [CANDIDATE, CANDIDATE]).inPlace.nodes.filter(
      ({ change }) => change.metadata?.labels?.[Labels.SelectedForUpdate] === 'true',
    ).length;

  test('nodes of older machines are selected by the controller with Auto, and by a user with Manual', () => {
    expect([selected('Auto'), selected('Manual')]).toEqual([1, 0]);
    expect(step(pool(2, [], 'Manual'), [CANDIDATE, CANDIDATE]).because).toBe('waiting: a user must select nodes');
  });

  test('nodes of older machines become candidates if their set has machines', () => {
    const sets = [newSet(0), oldSet(1), { ...oldSet(0), metadata: { ...oldSet(0).metadata, name: 'empty', uid: 'e' } }];
    const { candidates } = step(pool(1), [{}], { sets }).nodes;
    expect(candidates.map(({ metadata }) => metadata.name)).toEqual(['old']);
  });
});

test('a selected machine of the current set uses the disruption budget until its node is schedulable', () => {
  const selections = (state: UpdateState) => {
    const [current, old] = [newSet(1), oldSet(1)];
    const nodes = new Map([
      ['n0', nodeIn(state, 'n0')],
      ['m0', nodeIn({ marks: ['candidate'] }, 'm0')],
    ]);
    const machines = new Map([
      [current.metadata.uid, [machineIn(state, 'n0')]],
      [old.metadata.uid, [machineIn({ reason: 'CandidateForUpdate' }, 'm0')]],
    ]);
    const { inPlace } = step(pool(2), [], {
      sets: [current, old],
      machines,
      nodeOf: (name: string) => nodes.get(name),
    });
    return inPlace.nodes.flatMap(({ node, change }) =>
      change.metadata?.labels?.[Labels.SelectedForUpdate] === 'true' ? [node.metadata.name] : [],
    );
  };
  const marks = ['candidate', 'selected'] as const;
  expect(selections({ marks, reason: 'CandidateForUpdate' })).toEqual([]);
  expect(selections({ marks: [...marks, 'successful'], reason: 'UpdateSuccessful' })).toEqual([]);
  expect(selections({})).toEqual(['m0']);
});

describe('a surplus machine', () => {
  const surplus = (state: UpdateState) => {
    const [current, old] = [newSet(1), oldSet(1)];
    const nodes = new Map([
      ['n0', nodeIn(state, 'n0')],
      ['m0', nodeIn({}, 'm0')],
    ]);
    const machines = new Map([
      [current.metadata.uid, [machineIn(state, 'n0')]],
      [old.metadata.uid, [machineIn({}, 'm0')]],
    ]);
    const nodeOf = (name: string) => nodes.get(name);
    const given = pool(1);
    const inPlaceUpdate = { maxSurge: 1, maxUnavailable: 1, orchestrationType: 'Auto' } as const;
    const withSurge = {
      ...given,
      spec: { ...given.spec, strategy: { type: 'InPlaceUpdate' as const, inPlaceUpdate } },
    };
    const { write, inPlace } = step(withSurge, [], { sets: [current, old], machines, nodeOf });
    const sizes = Object.fromEntries(write.map(({ metadata, spec }) => [metadata.name, spec.replicas]));
    return { deleted: sizes.old === 0, cleaned: inPlace.nodes.map(({ node }) => node.metadata.name) };
  };

  test('stays until the nodes of updated machines are schedulable', () => {
    const updated: UpdateState = { marks: ['candidate', 'selected', 'successful'], reason: 'UpdateSuccessful' };
    expect(surplus(updated)).toEqual({ deleted: false, cleaned: ['n0'] });
    expect(surplus({})).toEqual({ deleted: true, cleaned: [] });
  });
});

describe('a machine that was moved before a pause', () => {
  const paused = (type: string, states: readonly UpdateState[]) => {
    const given = pool(2);
    const strategy = { ...given.spec.strategy, type } as MachineDeployment['spec']['strategy'];
    const [current, old] = [newSet(0), oldSet(2)];
    const machines = new Map([
      [current.metadata.uid, states.map((state, index) => machineIn(state, `n${index}`))],
      [old.metadata.uid, [machineIn({}, 'm0')]],
    ]);
    const deployment = { ...given, spec: { ...given.spec, paused: true, ...(strategy ? { strategy } : {}) } };
    const { write } = step(deployment, [{}], { sets: [current, old], machines });
    return Object.fromEntries(write.map(({ metadata, spec }) => [metadata.name, spec.replicas]));
  };

  test('a machine that was moved before a pause also moves its replica during the pause', () => {
    expect(paused('InPlaceUpdate', [{ moved: true }])).toMatchObject({ new: 1, old: 1 });
  });

  test.each([
    ['InPlaceUpdate', []],
    ['RollingUpdate', [{ moved: true }]],
  ] as const)('only a moved machine changes the sizes, and only in an in-place update: %s', (type, states) => {
    expect(Object.values(paused(type, states)).filter((replicas) => replicas === 1)).toEqual([]);
  });
});
