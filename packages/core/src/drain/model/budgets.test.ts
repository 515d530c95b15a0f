import type { PodDisruptionBudget } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { drainBudget, isMisconfigured } from './budgets.ts';

const budget = (spec: object, status?: object): PodDisruptionBudget =>
  partial<PodDisruptionBudget>({
    metadata: { name: 'b', namespace: 'n', resourceVersion: '1', generation: 1 },
    spec,
    ...(status ? { status } : {}),
  });

const assessed = {
  observedGeneration: 1,
  expectedPods: 3,
  currentHealthy: 3,
  desiredHealthy: 3,
  disruptionsAllowed: 0,
};

test.each<[what: string, spec: object, status: object | undefined, rule: string | undefined]>([
  ['maxUnavailable', { maxUnavailable: 0 }, assessed, 'maxUnavailable: 0, 3 of 3 pods needed, 3 healthy'],
  ['minAvailable', { minAvailable: '100%' }, assessed, 'minAvailable: 100%, 3 of 3 pods needed, 3 healthy'],
  ['neither', {}, assessed, undefined],
  ['maxUnavailable, not evaluated yet', { maxUnavailable: 1 }, undefined, 'maxUnavailable: 1'],
  ['neither, not evaluated yet', {}, undefined, undefined],
  [
    'a status without counts',
    { maxUnavailable: 1 },
    { observedGeneration: 1 },
    'maxUnavailable: 1, 0 of 0 pods needed, 0 healthy',
  ],
])('the rule of a budget contains its setting and its effect: %s', (_what, spec, status, rule) => {
  expect(drainBudget(budget(spec, status)).rule).toBe(rule);
});

test('a budget over pods without a controller counts none of them and is misconfigured, with a hint', () => {
  const status = { ...assessed, expectedPods: 0, currentHealthy: 1, desiredHealthy: 0 };
  const counted = budget({ maxUnavailable: 1 }, status);
  expect(isMisconfigured(counted)).toBe(true);
  expect(drainBudget(counted).rule).toBe(
    'maxUnavailable: 1 applies only to pods with a controller, but the selected pods have no controller; write minAvailable as a number',
  );
  expect(isMisconfigured(budget({ maxUnavailable: 1 }, { ...status, disruptedPods: { p: 'now' } }))).toBe(false);
  expect(isMisconfigured(budget({ maxUnavailable: 1 }, { ...status, currentHealthy: 0 }))).toBe(false);
});

test('the drain reads what a budget allows, and the version from which it knows that', () => {
  expect(drainBudget(budget({ maxUnavailable: 1 }, { ...assessed, desiredHealthy: 2, disruptionsAllowed: 1 }))).toEqual(
    {
      key: 'n/b',
      resourceVersion: '1',
      allowed: 1,
      stale: false,
      misconfigured: false,
      sparesUnready: true,
      rule: 'maxUnavailable: 1, 2 of 3 pods needed, 3 healthy',
    },
  );
  expect(drainBudget(budget({})).allowed).toBe(0);
});

test('a budget that was not evaluated yet is stale, not misconfigured', () => {
  const undecided = budget({ maxUnavailable: 0 });
  delete (undecided.metadata as { generation?: number }).generation;
  expect(isMisconfigured(undecided)).toBe(false);
  expect(isMisconfigured(budget({ maxUnavailable: 0 }))).toBe(false);
  expect(drainBudget(budget({ maxUnavailable: 0 })).stale).toBe(true);
  expect(isMisconfigured(budget({ maxUnavailable: 0 }, assessed))).toBe(true);
});

test.each<[what: string, spec: object, status: object | undefined, spares: boolean, nothingHealthy: true | undefined]>([
  ['fewer healthy pods than it needs', {}, { ...assessed, currentHealthy: 2 }, false, undefined],
  ['none healthy', {}, { ...assessed, currentHealthy: 0 }, false, true],
  ['none healthy, and it needs one', {}, { ...assessed, currentHealthy: 0, desiredHealthy: 1 }, false, true],
  ['as many healthy as it needs', {}, assessed, true, undefined],
  ['none needed, none healthy', {}, { ...assessed, currentHealthy: 0, desiredHealthy: 0 }, true, undefined],
  ['AlwaysAllow', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, { ...assessed, currentHealthy: 2 }, true, undefined],
  [
    'IfHealthyBudget',
    { unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
    { ...assessed, currentHealthy: 2 },
    false,
    undefined,
  ],
  ['not judged', {}, undefined, true, undefined],
])('a budget allows evicting unready pods, and shows that none is healthy: %s', (_what, spec, status, spares, none) => {
  const given = drainBudget(budget(spec, status));
  expect([given.sparesUnready, given.nothingHealthy]).toEqual([spares, none]);
});
