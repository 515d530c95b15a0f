import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { selectorOf } from '../../selectors/label-selector.ts';
import { budgetTerms, podTerms } from './terms.ts';

const KEYS = ['a', 'b', 'c'];
const VALUES = ['1', '2', '3'];
const labels = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES));
const expression = fc.record({
  key: fc.constantFrom(...KEYS),
  operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
  values: fc.array(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 3 }),
});
const selector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 2 }) },
  { requiredKeys: [] },
);

const budget = (of: unknown, namespace = 'n'): ApiObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', namespace },
  spec: { selector: of },
});

const pod = (carried: Record<string, string>, namespace = 'n'): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace, labels: carried },
});

const common = (one: ApiObject, other: ApiObject): string[] => {
  const terms = new Set(podTerms(other));
  return budgetTerms(one).filter((term) => terms.has(term));
};

test('a pod that a budget selects shares exactly one term with it', () => {
  fc.assert(
    fc.property(selector, labels, (of, carried) => {
      const meant = selectorOf(of as Parameters<typeof selectorOf>[0])(carried);
      if (meant) expect(common(budget(of), pod(carried))).toHaveLength(1);
    }),
  );
});

test('budgets with other labels and budgets of other namespaces are not read', () => {
  const web = pod({ app: 'web', tier: 'front' });
  expect(common(budget({ matchLabels: { app: 'db' } }), web)).toEqual([]);
  expect(common(budget({ matchExpressions: [{ key: 'app', operator: 'In', values: ['db', 'cache'] }] }), web)).toEqual(
    [],
  );
  expect(common(budget({ matchLabels: { app: 'web' } }, 'm'), web)).toEqual([]);
  expect(common(budget({}, 'm'), web)).toEqual([]);
});

test('an empty selector means every pod of the namespace, and an absent one none', () => {
  expect(common(budget({}), pod({}))).toHaveLength(1);
  expect(budgetTerms(budget(undefined))).toEqual([]);
});
