import { Annotations, type Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { machine, machinesOf, NOW } from '../set/test-objects.ts';
import {
  type BudgetInput,
  type BudgetSet,
  disruptionBudgetOf,
  JOIN_PATIENCE_MS,
  joinPatienceMs,
  repairAllowance,
  rolloutRoom,
} from './budget.ts';

const set = (replicas: number, ...machines: readonly (readonly Machine[])[]): BudgetSet => ({
  replicas,
  machines: machines.flat(),
});
const budget = (current: BudgetSet, more: Partial<BudgetInput> = {}) =>
  disruptionBudgetOf({ replicas: 10, unavailable: 2, current, old: [], now: NOW, ...more });
const pending = (name: string, options: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { phase: 'Pending', age: 1, ...options });

test('the patience with a joining machine comes from its annotation, its spec, or the default', () => {
  const patience = (annotation: string | undefined, creationTimeout?: string) => {
    const { metadata, spec, ...rest } = machine('a');
    const { annotations: _, ...bare } = metadata;
    const annotations =
      annotation === undefined ? {} : { annotations: { [Annotations.EffectiveCreationTimeout]: annotation } };
    return joinPatienceMs({
      ...rest,
      metadata: { ...bare, ...annotations },
      spec: { ...spec, ...(creationTimeout === undefined ? {} : { creationTimeout }) },
    });
  };
  expect(patience('5m', '7m')).toBe(5 * 60_000);
  expect(patience(undefined, '7m')).toBe(7 * 60_000);
  expect(patience('soon', '7m')).toBe(7 * 60_000);
  expect(patience(undefined)).toBe(JOIN_PATIENCE_MS);
});

test('of in-place updates only a failed one waits: the others are in progress', () => {
  const updating = (phase: 'InPlaceUpdating' | 'InPlaceUpdateFailed') =>
    budget(set(10, machinesOf(8, 'Running'), [machine('u', { phase }), machine('v', { phase })]));
  expect(updating('InPlaceUpdating')).toMatchObject({ updating: 2, missing: 2, underWay: 2, free: 0 });
  expect(updating('InPlaceUpdateFailed')).toMatchObject({ updating: 2, missing: 2, underWay: 0, free: 2 });
});

test('a phase outside of a creation does not count as one', () => {
  const odd = machine('odd', { phase: 'Preserved' as never, age: 1 });
  expect(budget(set(10, machinesOf(9, 'Running'), [odd]))).toMatchObject({ joining: 0, late: 0, missing: 1 });
});

test.each<[what: string, leaving: number, holding: number]>([
  ['that is deleted does not count', 0, 0],
  ['that is being deleted counts as one', 1, 1],
])('the successor of a machine that never joined, %s', (_what, leaving, holding) => {
  const gone = Array.from({ length: leaving }, (_, i) => machine(`g${i}`, { phase: 'Failed', deleting: true }));
  const account = budget(set(10, machinesOf(9, 'Running'), [pending('n', { lostState: 'unjoined' })], gone));
  expect(account).toMatchObject({ joining: 1, repairing: 1, holding });
});

test('a lost replica counts once, with any new machines', () => {
  const gone = machine('g', { phase: 'Failed', deleting: true });
  const account = budget(set(10, machinesOf(8, 'Running'), [pending('n', { lostState: 'unjoined' }), gone]));
  expect(account).toMatchObject({ repairing: 2, holding: 1 });
});

test('failed machines above the size of their set are being deleted, so nothing waits for them', () => {
  const failed = machinesOf(2, 'Failed', 'f');
  expect(budget(set(8, machinesOf(8, 'Running'), failed))).toMatchObject({ missing: 2, underWay: 2 });
  expect(budget(set(9, machinesOf(8, 'Running'), failed))).toMatchObject({ missing: 2, underWay: 1 });
  expect(budget(set(10, machinesOf(7, 'Running'), failed))).toMatchObject({ missing: 3, underWay: 1 });
});

test.each<[what: string, old: BudgetSet, free: number]>([
  ['for the first time', set(10, machinesOf(9, 'Running', 'o'), [pending('p')]), 2],
  ['as a replacement', set(10, machinesOf(9, 'Running', 'o'), [pending('p', { lostState: 'served' })]), 1],
  ['above its replicas', set(9, machinesOf(9, 'Running', 'o'), [pending('p')]), 1],
  [
    'for the first time, while another replica has no machine',
    set(10, machinesOf(8, 'Running', 'o'), [pending('p')]),
    1,
  ],
])('a machine that an old set creates %s uses the budget like a replacement', (_what, old, free) => {
  expect(budget(set(0), { old: [old] }).free).toBe(free);
});

test('a set that says how many replicas it lost is believed', () => {
  const gone = machine('g', { phase: 'Failed', deleting: true });
  const machines = [...machinesOf(8, 'Running'), gone];
  expect(budget({ replicas: 10, machines, lost: 2 })).toMatchObject({ repairing: 2, holding: 2 });
  expect(budget({ replicas: 10, machines, lost: 0 })).toMatchObject({ repairing: 0, holding: 0 });
  expect(budget({ replicas: 10, machines })).toMatchObject({ repairing: 1, holding: 1 });
});

test.each<[available: number, replicas: number, unavailable: number, room: number]>([
  [3, 3, 1, 1],
  [3, 2, 5, 3],
  [1, 5, 1, 0],
])(
  'of %d available machines of %d, with at most %d unavailable, a rollout may delete %d',
  (available, replicas, unavailable, room) => {
    expect(rolloutRoom(available, replicas, unavailable)).toBe(room);
  },
);

test.each<[rolling: boolean, unavailable: number, limit: number, allowance: number]>([
  [false, 2, 5, 5],
  [true, 2, 5, 2],
  [true, 5, 2, 2],
  [true, 0, 5, 1],
  [false, 2, 0, 1],
])(
  'with a rollout: %s, at most %d unavailable and a limit of %d, %d may be replaced together',
  (rolling, unavailable, limit, allowance) => {
    expect(repairAllowance({ rolling, unavailable }, limit)).toBe(allowance);
  },
);

test('the first late machine may be in any set', () => {
  const old = [set(1, [pending('o', { age: 7 })])];
  const { lateAt } = budget(set(1, [pending('n', { age: 2 })]), { old });
  expect(lateAt).toEqual(new Date(NOW.getTime() + JOIN_PATIENCE_MS - 7 * 60_000));
  expect(budget(set(1, machinesOf(1, 'Running'))).lateAt).toBeUndefined();
});
