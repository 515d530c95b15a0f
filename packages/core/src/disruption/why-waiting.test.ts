import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import { machine, machinesOf, NOW } from '../set/test-objects.ts';
import { planRepairs, whyWaiting } from './repairs.ts';
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
  const joining = machine('p', { phase: 'Pending', age: 1, loss: 'served' });
  expect(whyWaiting(plan(0, 2, [joining]))).toBe(
    'f0, f1 failed and wait: at most 1 may be replaced at once (1 being made)',
  );
  expect(whyWaiting(plan(0, 2))).toBe('f1 failed and wait: at most 1 may be replaced at once');
  expect(whyWaiting(plan(0, 7, [joining]))).toContain('f0, f1, f2, f3, f4 and 2 more failed and wait');
  expect(whyWaiting(plan(0, 0, [joining]))).toBeUndefined();
});

test('only waiting machines cause a pass when a machine should have joined', () => {
  const joining = machine('p', { phase: 'Pending', age: 1, loss: 'served' });
  expect(plan(0, 2, [joining]).lookAgainAt).toEqual(new Date(NOW.getTime() + 19 * 60_000));
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
