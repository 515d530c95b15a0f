import type { PodDisruptionBudget } from '@mcm/kube';
import { expect, test } from 'vitest';
import { drainBudget, isMisconfigured } from './budgets.ts';

const budget = (spec: object, status?: object): PodDisruptionBudget =>
  ({
    metadata: { name: 'b', namespace: 'n', resourceVersion: '1', generation: 1 },
    spec,
    ...(status ? { status } : {}),
  }) as unknown as PodDisruptionBudget;

const judged = { observedGeneration: 1, expectedPods: 3, currentHealthy: 3, desiredHealthy: 3, disruptionsAllowed: 0 };

test.each<[what: string, spec: object, status: object | undefined, rule: string | undefined]>([
  ['maxUnavailable', { maxUnavailable: 0 }, judged, 'maxUnavailable: 0, 3 of 3 pods needed, 3 healthy'],
  ['minAvailable', { minAvailable: '100%' }, judged, 'minAvailable: 100%, 3 of 3 pods needed, 3 healthy'],
  ['neither', {}, judged, undefined],
  ['maxUnavailable, not judged yet', { maxUnavailable: 1 }, undefined, 'maxUnavailable: 1'],
  ['neither, not judged yet', {}, undefined, undefined],
])('a budget says what it asks for and what it comes to: %s', (_what, spec, status, rule) => {
  expect(drainBudget(budget(spec, status)).rule).toBe(rule);
});

test('a budget that nobody has judged is not misconfigured, and is stale', () => {
  const undecided = budget({ maxUnavailable: 0 });
  delete (undecided.metadata as { generation?: number }).generation;
  expect(isMisconfigured(undecided)).toBe(false);
  expect(isMisconfigured(budget({ maxUnavailable: 0 }))).toBe(false);
  expect(drainBudget(budget({ maxUnavailable: 0 })).stale).toBe(true);
  expect(isMisconfigured(budget({ maxUnavailable: 0 }, judged))).toBe(true);
});
