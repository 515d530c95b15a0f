import type { PodDisruptionBudget } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { budgetSelects } from '../drain/model/budgets.ts';
import { budgetTerm, podTerms } from './budget-index.ts';

const labels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'));
const selector = fc.record(
  {
    matchLabels: labels,
    matchExpressions: fc.array(
      fc.record({ key: fc.constantFrom('a', 'b'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
      { maxLength: 1 },
    ),
  },
  { requiredKeys: [] },
);

test('a budget that selects a pod is found under one of the terms of the pod', () => {
  fc.assert(
    fc.property(selector, labels, (of, carried) => {
      const budget = { metadata: { name: 'b', namespace: 'n' }, spec: { selector: of } } as PodDisruptionBudget;
      if (budgetSelects(budget, carried)) expect(podTerms('n', carried)).toContain(budgetTerm(budget));
    }),
  );
});

test('budgets of other labels and of other namespaces are not read', () => {
  const budget = (namespace: string, app: string) =>
    budgetTerm(
      partial<PodDisruptionBudget>({
        metadata: { name: 'b', namespace },
        spec: { selector: { matchLabels: { app } } },
      }),
    );
  expect(podTerms('n', { app: 'web' })).not.toContain(budget('n', 'db'));
  expect(podTerms('n', { app: 'web' })).not.toContain(budget('m', 'web'));
});
