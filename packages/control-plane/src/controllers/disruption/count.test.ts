import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { countBudget, statusPatch } from './count.ts';

const now = new Date('2024-01-01T00:00:00Z');

const pod = (name: string, ready: boolean, metadata: Record<string, unknown> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

const budget = (spec: Record<string, unknown>, status: Record<string, unknown> = {}): ApiObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', generation: 1 },
  spec,
  status,
});

const three = [pod('a', true), pod('b', true), pod('c', true)];

test.each([
  [
    'a number is the healthy pods that must stay',
    { minAvailable: 1 },
    undefined,
    { expected: 3, desired: 1, allowed: 2 },
  ],
  ['more than there are allows none', { minAvailable: 5 }, undefined, { expected: 3, desired: 5, allowed: 0 }],
  [
    'a percentage is of what the owners want, rounded up',
    { minAvailable: '50%' },
    3,
    { expected: 3, desired: 2, allowed: 1 },
  ],
  [
    'maxUnavailable counts from what the owners want',
    { maxUnavailable: 1 },
    4,
    { expected: 4, desired: 3, allowed: 0 },
  ],
  ['a percentage of it is rounded up', { maxUnavailable: '30%' }, 3, { expected: 3, desired: 2, allowed: 1 }],
  ['no owners, nothing allowed', { maxUnavailable: 1 }, 0, { expected: 0, desired: 0, allowed: 0 }],
])('%s', (_title, spec, scale, { expected, desired, allowed }) => {
  const count = countBudget({ budget: budget(spec), pods: three, scale, now });
  expect(count).toMatchObject({
    expectedPods: expected,
    desiredHealthy: desired,
    disruptionsAllowed: allowed,
    currentHealthy: 3,
  });
});

test('pods that are unready, dying or evicted are not healthy', () => {
  const pods = [
    pod('a', true),
    pod('unready', false),
    pod('dying', true, { deletionTimestamp: '2024-01-01T00:00:00Z' }),
    pod('evicted', true),
  ];
  const status = { disruptedPods: { evicted: '2023-12-31T23:59:00Z' } };
  const count = countBudget({ budget: budget({ minAvailable: 1 }, status), pods, scale: undefined, now });
  expect(count).toMatchObject({
    currentHealthy: 1,
    disruptionsAllowed: 0,
    disruptedPods: { evicted: '2023-12-31T23:59:00Z' },
  });
  expect(count.lookAgainAt).toEqual(new Date('2024-01-01T00:01:00Z'));
});

test('the disruption of an eviction is returned after two minutes if the pod still exists, and at once if it is deleted', () => {
  const pods = [pod('late', true), pod('gone', true, { deletionTimestamp: '2024-01-01T00:00:00Z' })];
  const disruptedPods = { late: '2023-12-31T23:58:00Z', gone: '2024-01-01T00:00:00Z' };
  const held = budget({ minAvailable: 0 }, { disruptedPods });
  const count = countBudget({ budget: held, pods, scale: undefined, now });
  expect(count).toMatchObject({ disruptedPods: {}, currentHealthy: 1, lookAgainAt: undefined });
  expect(statusPatch(held, count, now)).toMatchObject({ disruptedPods: null });
});

test('a status that does not change is not written again', () => {
  const view = { budget: budget({ minAvailable: 1 }), pods: three, scale: undefined, now };
  const patch = statusPatch(view.budget, countBudget(view), now);
  expect(patch).toMatchObject({
    conditions: [{ type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods' }],
  });
  const after = { ...view.budget, status: patch };
  expect(statusPatch(after, countBudget({ ...view, budget: after }), new Date('2025-01-01'))).toBeUndefined();
});
