import type { Machine, MachinePhase } from '@mcm/api';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { machine, machinesOf, NOW } from '../set/test-objects.ts';
import {
  type BudgetInput,
  disruptionBudgetOf,
  JOIN_PATIENCE_MS,
  repairAllowance,
  repairRoom,
  rolloutRoom,
} from './budget.ts';

const account = (replicas: number, machines: readonly Machine[]) => ({ replicas, machines });
const fresh = (count: number, phase: MachinePhase | undefined, prefix: string) =>
  Array.from({ length: count }, (_, index) => machine(`${prefix}${index}`, { phase, age: 1 }));

const input = (more: Partial<BudgetInput>): BudgetInput => ({
  replicas: 10,
  unavailable: 0,
  current: undefined,
  old: [],
  now: NOW,
  ...more,
});

describe('disruption budget', () => {
  test('failed and unreachable machines are missing, and no action has begun for them', () => {
    const machines = [...machinesOf(7, 'Running'), ...machinesOf(2, 'Failed', 'f'), ...machinesOf(1, 'Unknown', 'u')];
    const budget = disruptionBudgetOf(input({ current: account(10, machines) }));
    expect(budget).toMatchObject({ available: 7, failed: 2, unreachable: 1, missing: 3, underWay: 0, repairing: 0 });
  });

  test('a terminating machine and its successor are one disruption', () => {
    const machines = [
      ...machinesOf(9, 'Running'),
      machine('gone', { phase: 'Failed', deleting: true }),
      machine('p', { phase: 'Pending', age: 1, lostState: 'served' }),
    ];
    const budget = disruptionBudgetOf(input({ current: account(10, machines) }));
    expect(budget).toMatchObject({ leaving: 1, joining: 1, missing: 1, underWay: 1, repairing: 1, holding: 1 });
  });

  test('the surplus of a rollout is no disruption, and a machine that an old set creates is a repair', () => {
    const old = [...machinesOf(9, 'Running', 'o'), ...fresh(1, 'Pending', 'q')];
    const budget = disruptionBudgetOf(
      input({ current: account(2, fresh(2, 'Pending', 'n')), old: [account(10, old)] }),
    );
    expect(budget).toMatchObject({ rolling: true, missing: 1, underWay: 1, repairing: 1, holding: 0, joining: 3 });
  });

  test('a rollout lasts as long as an old set has a size or a machine, or it is not complete', () => {
    const rolls = (old: BudgetInput['old'], finished?: boolean) =>
      disruptionBudgetOf(input({ current: account(1, []), old, ...(finished === undefined ? {} : { finished }) }))
        .rolling;
    expect(rolls([account(1, [])])).toBe(true);
    expect(rolls([account(0, [machine('o', { phase: 'Terminating', deleting: true })])])).toBe(true);
    expect([rolls([account(0, [])]), rolls([account(0, [])], true), rolls([account(0, [])], false)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(rolls([], false)).toBe(false);
  });

  test('machines above their set’s replicas are being deleted and delay nothing', () => {
    const budget = disruptionBudgetOf(input({ replicas: 3, current: account(2, machinesOf(4, 'Running')) }));
    expect(budget).toMatchObject({ available: 2, missing: 1 });
  });

  test('nothing waits for a machine whose creation takes too long', () => {
    const late = machine('late', { phase: 'CrashLoopBackOff', age: JOIN_PATIENCE_MS / 60_000 });
    const soon = machine('soon', { phase: 'Pending', age: 5 });
    const budget = disruptionBudgetOf(input({ replicas: 2, current: account(2, [late, soon]) }));
    expect(budget).toMatchObject({ late: 1, joining: 1, underWay: 1 });
    expect(budget.lateAt).toEqual(new Date(NOW.getTime() + JOIN_PATIENCE_MS - 5 * 60_000));
  });

  test('a machine whose deletion was sent counts as deleted', () => {
    const machines = [...machinesOf(9, 'Running'), machine('sent', { phase: 'Failed' })];
    const leaving = ({ metadata }: Machine) => metadata.name === 'sent';
    expect(disruptionBudgetOf(input({ current: account(10, machines), leaving }))).toMatchObject({
      failed: 0,
      holding: 1,
    });
  });
});

describe('room', () => {
  test.each([
    ['nothing is in progress', 3, 0, 3, 1],
    ['the limit is reached', 1, 0, 2, 1],
  ])('without a rollout the limit counts: %s', (_title, limit, goes, failed, expected) => {
    const machines = [
      ...machinesOf(10 - failed - goes, 'Running'),
      ...machinesOf(failed, 'Failed', 'f'),
      ...machinesOf(goes, 'Terminating', 't', { deleting: true }),
    ];
    const room = repairRoom(disruptionBudgetOf(input({ current: account(10, machines) })), limit);
    expect(room).toBe(limit - goes);
    expect(room).toBeGreaterThanOrEqual(expected);
  });

  test.each([
    [1, 1, 0],
    [2, 2, 0],
    [2, 1, 1],
    [3, 2, 1],
  ])('%i creations with a limit of %i: at most that many count as unmarked replacements', (births, limit, room) => {
    const machines = [
      ...machinesOf(6, 'Running'),
      ...machinesOf(4 - births, 'Failed', 'f'),
      ...fresh(births, 'Pending', 'n'),
    ];
    expect(repairRoom(disruptionBudgetOf(input({ current: account(10, machines) })), limit)).toBe(room);
  });

  test.each([
    ['allows a replacement while a surge machine replaces it', 2, 1],
    ['allows no replacement without a surge', 3, 0],
  ])('an in-place update %s', (_title, replicas, room) => {
    const [current, old] = [machinesOf(2, 'Failed', 'f'), machinesOf(1, 'InPlaceUpdating', 'u')];
    const state = { replicas, unavailable: 1, current: account(2, current), old: [account(1, old)] };
    expect(repairRoom(disruptionBudgetOf(input(state)), 1)).toBe(room);
  });

  test('rollouts and replacements together keep to maxUnavailable', () => {
    const old = [...machinesOf(8, 'Running', 'o'), ...machinesOf(1, 'Failed', 'f')];
    const budget = disruptionBudgetOf(
      input({ unavailable: 3, current: account(1, fresh(1, 'Pending', 'n')), old: [account(9, old)] }),
    );
    expect(budget.underWay).toBe(1);
    expect(rolloutRoom(budget.available, 10, 3)).toBe(1);
    expect(repairRoom(budget, 5)).toBe(2);
  });

  test.each([
    ['is being made', fresh(1, 'Pending', 'n'), 0],
    ['has exceeded its creation timeout', [machine('n', { phase: 'Pending', age: 20 })], 1],
    ['has failed too', [machine('n', { phase: 'Failed', age: 1 })], 1],
  ])(
    '#14 a rollout has used the whole budget, and its machine %s: %i replacements are possible',
    (_title, made, expected) => {
      const old = [...machinesOf(8, 'Running', 'o'), ...machinesOf(1, 'Failed', 'f')];
      const stuck = disruptionBudgetOf(input({ unavailable: 1, current: account(1, made), old: [account(9, old)] }));
      expect(stuck.underWay).toBe(1 - expected);
      expect(repairRoom(stuck, 1)).toBe(expected);
      const begun = [...machinesOf(8, 'Running', 'o'), machine('f', { phase: 'Failed', deleting: true })];
      const repaired = disruptionBudgetOf(
        input({ unavailable: 1, current: account(1, made), old: [account(9, begun)] }),
      );
      expect(repairRoom(repaired, 1)).toBe(0);
    },
  );

  test('one machine may be replaced even with maxUnavailable 0', () => {
    const old = [...machinesOf(9, 'Running', 'o'), ...machinesOf(1, 'Failed', 'f')];
    const budget = disruptionBudgetOf(
      input({ current: account(1, machinesOf(1, 'Running', 'n')), old: [account(10, old)] }),
    );
    expect([repairRoom(budget, 1), repairRoom(budget, 5), budget.free]).toEqual([1, 1, 2]);
  });

  test('a failed in-place update frees its place; a selected node takes one', () => {
    const old = [
      ...machinesOf(7, 'Running', 'o'),
      machine('u', { phase: 'InPlaceUpdateFailed' }),
      ...machinesOf(2, 'Failed', 'f'),
    ];
    const failedUpdate = input({ unavailable: 1, current: account(0, []), old: [account(10, old)] });
    expect(repairRoom(disruptionBudgetOf(failedUpdate), 1)).toBe(1);
    const selected = ({ metadata }: Machine) => metadata.name === 'o0';
    expect(repairRoom(disruptionBudgetOf({ ...failedUpdate, selected }), 1)).toBe(0);
  });

  test('the last machines of a rollout count until it is complete', () => {
    const machines = [...machinesOf(7, 'Running'), ...fresh(2, 'Pending', 'n'), ...machinesOf(1, 'Failed', 'f')];
    const tail = input({ unavailable: 2, current: account(10, machines), old: [account(0, [])], finished: false });
    expect(repairRoom(disruptionBudgetOf(tail), 5)).toBe(0);
    expect(repairRoom(disruptionBudgetOf({ ...tail, finished: true }), 5)).toBe(3);
  });
});

test.each([
  [0, 0],
  [JOIN_PATIENCE_MS / 60_000 - 1, 0],
  [JOIN_PATIENCE_MS / 60_000, 1],
])(
  'after a take-over, a machine that the original created %i minutes ago counts as a replacement for a limited time: %i replacements are possible',
  (age, room) => {
    const current = {
      ...account(1, [machine('theirs', { phase: 'Pending', age })]),
      isOurs: ({ metadata }: Machine) => metadata.name !== 'theirs',
    };
    const old = [...machinesOf(8, 'Running', 'o'), ...machinesOf(1, 'Failed', 'f')];
    const taken = disruptionBudgetOf(input({ replicas: 9, unavailable: 2, current, old: [account(9, old)] }));
    expect(repairRoom(taken, 1)).toBe(room);
    const ours = { ...current, isOurs: () => true };
    expect(
      repairRoom(disruptionBudgetOf(input({ replicas: 9, unavailable: 2, current: ours, old: [account(9, old)] })), 2),
    ).toBeGreaterThan(0);
  },
);

const phases = [
  'Running',
  'Failed',
  'Unknown',
  'Pending',
  'CrashLoopBackOff',
  'Terminating',
  'InPlaceUpdating',
  'InPlaceUpdateFailed',
  undefined,
] as const;

let named = 0;
const anyMachine = fc
  .record({ phase: fc.constantFrom(...phases), deleting: fc.boolean(), age: fc.integer({ min: 0, max: 40 }) })
  .map((options) => machine(`r${++named}`, options));
const anySet = fc
  .record({ extra: fc.integer({ min: -2, max: 3 }), machines: fc.array(anyMachine, { maxLength: 12 }) })
  .map(({ extra, machines }) => account(Math.max(machines.length + extra, 0), machines));
const anyInput = fc.record({
  replicas: fc.nat(25),
  unavailable: fc.nat(6),
  current: fc.option(anySet, { nil: undefined }),
  old: fc.array(anySet, { maxLength: 3 }),
  limit: fc.integer({ min: 1, max: 8 }),
});

const runs = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? 2_000), endOnFailure: true };

test('rollout and repair together never take more than the deployment allows', () => {
  fc.assert(
    fc.property(anyInput, ({ limit, ...rest }) => {
      const budget = disruptionBudgetOf({ ...rest, unavailable: Math.min(rest.unavailable, rest.replicas), now: NOW });
      const { replicas, unavailable, available, missing, underWay, repairing, rolling, failed } = budget;
      expect([underWay >= 0, underWay <= missing, missing <= replicas]).toEqual([true, true, true]);
      const given = rolling ? rolloutRoom(available, replicas, unavailable) : 0;
      if (given > 0) expect(available - given).toBeGreaterThanOrEqual(replicas - unavailable);
      const begun = Math.min(repairRoom(budget, limit), failed);
      if (begun === 0) return;
      expect(repairing + begun).toBeLessThanOrEqual(limit);
      if (rolling) expect(Math.max(underWay, repairing) + begun).toBeLessThanOrEqual(Math.max(unavailable, 1));
    }),
    runs,
  );
});

test('a failed machine waits only for actions in progress', () => {
  fc.assert(
    fc.property(anyInput, ({ limit, ...rest }) => {
      const budget = disruptionBudgetOf({ ...rest, unavailable: Math.min(rest.unavailable, rest.replicas), now: NOW });
      const { rolling, repairing, underWay, unavailable } = budget;
      const free = repairing < limit && Math.max(underWay, repairing) < Math.max(unavailable, 1);
      if (rolling && free) expect(repairRoom(budget, limit)).toBeGreaterThan(0);
    }),
    runs,
  );
});

test.each<[available: number, replicas: number, unavailable: number, room: number]>([
  [3, 10, 20, 3],
  [2, 2, 2, 2],
  [10, 10, 0, 0],
  [8, 10, 1, 0],
])(
  'with %d of %d available and %d that may be unavailable, a rollout may delete %d',
  (available, replicas, unavailable, room) => {
    expect(rolloutRoom(available, replicas, unavailable)).toBe(room);
  },
);

test.each<[rolling: boolean, unavailable: number, limit: number, allowance: number]>([
  [true, 2, 5, 2],
  [true, 0, 5, 1],
  [true, 9, 5, 5],
  [false, 0, 5, 5],
  [false, 0, 0, 1],
  [true, 3, 0, 1],
])(
  'rollout %s, %d unavailable, limit %d: %d replacements at the same time',
  (rolling, unavailable, limit, allowance) => {
    expect(repairAllowance({ rolling, unavailable }, limit)).toBe(allowance);
  },
);

test('replacements up to the limit leave no room for another one', () => {
  const machines = [
    ...machinesOf(7, 'Running'),
    ...machinesOf(1, 'Failed', 'f'),
    ...[0, 1].map((index) => machine(`p${index}`, { phase: 'Pending', age: 1, lostState: 'served' })),
  ];
  const budget = disruptionBudgetOf(input({ current: account(10, machines) }));
  expect([repairRoom(budget, 2), repairRoom(budget, 3)]).toEqual([0, 1]);
});

test.each([
  [0, 0],
  [1, 1],
  [3, 2],
])('a set that reports %d lost machines has %d open replicas, also while others are deleted', (lost, repairing) => {
  const gone = [0, 1].map((index) => machine(`gone${index}`, { phase: 'Running', deleting: true }));
  const set = { ...account(10, [...machinesOf(8, 'Running'), ...gone]), lost };
  expect(disruptionBudgetOf(input({ current: set }))).toMatchObject({ leaving: 2, repairing });
});
