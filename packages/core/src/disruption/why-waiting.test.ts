import { Labels, type Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { type MachineOptions, machine, machinesOf, NOW } from '../set/test-objects.ts';
import { hasFailures, planRepairs, type RepairSnapshot, whyWaiting } from './repairs.ts';
import type { OpenBreaker } from './unreachable.ts';

const plan = (unavailable: number, failed: number, more: readonly ReturnType<typeof machine>[] = []) =>
  planRepairs({
    replicas: 8,
    unavailable,
    current: { replicas: 8, machines: [...machinesOf(2, 'Running'), ...machinesOf(failed, 'Failed', 'f'), ...more] },
    old: [],
    limit: 1,
    breakerOf: () => undefined,
    nodeAnnotations: () => ({}),
    now: NOW,
  });

test('the sentence about waiting machines is complete', () => {
  const joining = machine('p', { phase: 'Pending', age: 1, lostState: 'served' });
  expect(whyWaiting(plan(0, 2, [joining]))).toBe(
    'failed machines wait for their replacement: f0, f1. mcm replaces at most 1 at the same time (1 being created)',
  );
  expect(whyWaiting(plan(0, 2))).toBe(
    'failed machines wait for their replacement: f1. mcm replaces at most 1 at the same time',
  );
  expect(whyWaiting(plan(0, 7, [joining]))).toContain('wait for their replacement: f0, f1, f2, f3, f4 and 2 more.');
  expect(whyWaiting(plan(0, 0, [joining]))).toBeUndefined();
});

test('only waiting machines cause a pass when a machine should have joined', () => {
  const joining = machine('p', { phase: 'Pending', age: 1, lostState: 'served' });
  expect(plan(0, 2, [joining]).lookAgainAt).toEqual(new Date(NOW.getTime() + 19 * 60_000));
  expect(plan(0, 1, [joining]).lookAgainAt).toEqual(new Date(NOW.getTime() + 19 * 60_000));
  expect(plan(0, 0, [joining]).lookAgainAt).toBeUndefined();
});

test('of several breakers the first to close determines the next pass', () => {
  const machines = machinesOf(3, 'Failed', 'f');
  const after = (...minutesFromNow: readonly number[]) => {
    const breakerOf = ({ metadata }: Machine): OpenBreaker => ({
      scope: 'cluster',
      unreachable: 3,
      joined: 3,
      lookAgainAt: new Date(NOW.getTime() + (minutesFromNow[Number(metadata.name.slice(1))] ?? 0) * 60_000),
    });
    const { lookAgainAt } = planRepairs({
      replicas: 3,
      unavailable: 0,
      current: { replicas: 3, machines },
      old: [],
      limit: 1,
      breakerOf,
      nodeAnnotations: () => ({}),
      now: NOW,
    });
    return ((lookAgainAt?.getTime() ?? Number.NaN) - NOW.getTime()) / 60_000;
  };
  expect([after(3, 1, 2), after(1, 2, 3), after(3, 2, 1)]).toEqual([1, 1, 1]);
});

test('a machine that is being deleted, or whose deletion was sent, is not selected again', () => {
  const current = { replicas: 3, machines: [...machinesOf(1, 'Running'), ...machinesOf(2, 'Failed', 'f')] };
  const going = machine('g', { phase: 'Failed', deleting: true });
  const chosen = (leaving: readonly string[]) =>
    planRepairs({
      replicas: 3,
      unavailable: 0,
      current: { ...current, machines: [...current.machines, going] },
      old: [],
      leaving: ({ metadata }) => leaving.includes(metadata.name),
      limit: 5,
      breakerOf: () => undefined,
      nodeAnnotations: () => ({}),
      now: NOW,
    });
  expect(chosen([]).go.map(({ metadata }) => metadata.name)).toEqual(['f0', 'f1']);
  const { go, waiting } = chosen(['f0']);
  expect([...go, ...waiting].map(({ metadata }) => metadata.name)).toEqual(['f1']);
});

const ask = (more: Partial<RepairSnapshot>) =>
  planRepairs({
    replicas: 8,
    unavailable: 1,
    current: undefined,
    old: [],
    limit: 1,
    now: NOW,
    breakerOf: () => undefined,
    nodeAnnotations: () => ({}),
    ...more,
  });
const names = (machines: readonly Machine[]) => machines.map(({ metadata }) => metadata.name);
const fails = (name: string, minutes: number, change: MachineOptions = {}): Machine => {
  const made = machine(name, { phase: 'Failed', ...change });
  const lastUpdateTime = new Date(NOW.getTime() - minutes * 60_000).toISOString();
  return { ...made, status: { ...made.status, currentStatus: { ...made.status?.currentStatus, lastUpdateTime } } };
};
const setOf = (machines: readonly Machine[], replicas = machines.length) => ({ replicas, machines });

test('the machine that failed first is replaced first, then in the order of names', () => {
  const machines = [fails('c', 5), fails('b', 5), fails('a', 1), fails('z', 9)];
  const { go, waiting } = ask({ replicas: 4, current: setOf(machines) });
  expect([names(go), names(waiting)]).toEqual([['z'], ['b', 'c', 'a']]);
  const undated = [machine('new', { phase: 'Failed', age: 1 }), machine('old', { phase: 'Failed', age: 30 })];
  expect(names(ask({ replicas: 3, current: setOf([...undated, fails('middle', 20)]) }).waiting)).toEqual([
    'middle',
    'new',
  ]);
  const { status: _, ...bare } = machine('bare', { age: 1 });
  expect(ask({ replicas: 1, current: setOf([bare]) }).go).toEqual([]);
});

test('only failed machines are due: none that is unreachable, preserved, moved or leaving', () => {
  const machines = [
    machine('silent', { phase: 'Unknown' }),
    machine('healthy', { phase: 'Running' }),
    fails('preserved', 1, { preserve: 'now' }),
    fails('moved', 1, { labels: { [Labels.UpdateResult]: 'successful' } }),
    fails('terminating', 1, { deleting: true }),
    fails('leaving', 1),
    fails('due', 1),
  ];
  const leaving = ({ metadata }: Machine) => metadata.name === 'leaving';
  const plan = ask({ limit: 9, replicas: 7, current: setOf(machines), leaving });
  expect([names(plan.go), names(plan.waiting), plan.held, plan.kept]).toEqual([['due'], [], [], []]);
});

test('a breaker holds failed and unreachable machines, and no others', () => {
  const breaker: OpenBreaker = { scope: 'cluster', unreachable: 3, joined: 3, lookAgainAt: NOW };
  const machines = [machine('silent', { phase: 'Unknown' }), machine('healthy', { phase: 'Running' }), fails('f', 1)];
  const { held, go } = ask({ replicas: 3, current: setOf(machines), breakerOf: () => breaker });
  expect([held.map(({ machine: { metadata } }) => metadata.name), go]).toEqual([['silent', 'f'], []]);
});

test('a paused rollout keeps failed machines of the current set until the given time', () => {
  const until = new Date(NOW.getTime() + 60_000);
  const state = { replicas: 2, current: setOf([fails('a', 1)]), old: [setOf([fails('o', 1)])] };
  const { kept, go, lookAgainAt } = ask({ ...state, keeps: { until } });
  expect([names(kept), names(go), lookAgainAt]).toEqual([['a'], ['o'], until]);
  const silent = { replicas: 1, current: setOf([machine('silent', { phase: 'Unknown' })]) };
  expect(ask({ ...silent, keeps: { until } }).kept).toEqual([]);
  const nothing = ask({ replicas: 1, old: [setOf([machine('o', { phase: 'Running' })])], keeps: { until } });
  expect([nothing.kept, nothing.lookAgainAt]).toEqual([[], undefined]);
});

test('during a rollout all failed machines share one queue, otherwise those that never joined wait for no successor', () => {
  const unjoined = (name: string, minutes: number): Machine => {
    const made = fails(name, minutes);
    const lastOperation = { type: 'Create', state: 'Failed' } as const;
    return { ...made, status: { ...made.status, lastOperation } };
  };
  const machines = [unjoined('u1', 9), fails('s1', 5), unjoined('u2', 4), fails('s2', 3)];
  const going = (more: Partial<RepairSnapshot>) => names(ask({ replicas: 4, limit: 2, unavailable: 2, ...more }).go);
  expect(going({ current: setOf(machines) })).toEqual(['s1', 's2']);
  expect(going({ old: [setOf(machines)] })).toEqual(['u1', 's1']);
  expect(going({ current: setOf(machines.slice(0, 3)), replicas: 3 })).toEqual(['s1', 'u1']);
  const joining = machine('p', { phase: 'Pending', age: 1, lostState: 'served' });
  expect(going({ current: setOf([joining, ...machines]), replicas: 5 })).toEqual(['s1']);
  expect(going({ current: setOf([joining, unjoined('u1', 9), unjoined('u2', 4)]), replicas: 3 })).toEqual(['u1']);
  expect(ask({ replicas: 4, current: setOf(machines), unsettled: true }).go).toEqual([]);
});

test('a rollout deletes no available machine until failed machines are replaced', () => {
  const failures = (...machines: readonly Machine[]) => hasFailures(ask({ replicas: 3, current: setOf(machines) }));
  expect([failures(fails('a', 1)), failures(machine('m', { phase: 'Running' }))]).toEqual([true, false]);
  const unsettled = ask({ replicas: 3, current: setOf([fails('a', 1)]), unsettled: true });
  expect([
    hasFailures(unsettled),
    hasFailures(ask({ replicas: 2, current: setOf([fails('a', 2), fails('b', 1)]) })),
  ]).toEqual([true, true]);
});

test('the reason for waiting names everything that uses the budget', () => {
  const state = {
    replicas: 6,
    unavailable: 2,
    current: setOf([fails('f', 1), machine('gone', { phase: 'Terminating', deleting: true })]),
    old: [
      setOf([
        machine('u', { phase: 'InPlaceUpdating' }),
        machine('p', { phase: 'Pending', age: 1, lostState: 'served' }),
        ...machinesOf(2, 'Running'),
      ]),
    ],
  };
  expect(whyWaiting(ask(state))).toBe(
    'failed machines wait for their replacement: f. mcm replaces at most 1 at the same time. The rollout and the replacements together may make at most 2 machines unavailable (1 terminating, 1 being created, 1 being updated in place)',
  );
  expect(whyWaiting(ask({ ...state, unavailable: 0 }))).toContain('at most 1 machine unavailable');
});
