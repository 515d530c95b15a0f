import { expect, test } from 'vitest';
import { machine, machinesOf, NOW } from '../set/test-objects.ts';
import { planRepairs, whyWaiting } from './repairs.ts';

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

test('who waits, and for what, is a sentence without gaps', () => {
  const joining = machine('p', { phase: 'Pending', age: 1, loss: 'served' });
  expect(whyWaiting(plan(0, 2, [joining]))).toBe(
    'f0, f1 failed and wait: at most 1 may be replaced at once (1 being made)',
  );
  expect(whyWaiting(plan(0, 7, [joining]))).toContain('f0, f1, f2, f3, f4 and 2 more failed and wait');
  expect(whyWaiting(plan(0, 0, [joining]))).toBeUndefined();
});

test('one that goes already, by the server or by what was sent to it, is not chosen again', () => {
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
