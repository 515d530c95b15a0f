import { isPlain, items, look } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { namespaceOf } from '../runtime/objects.ts';

/** Stands in no label: for budgets whose selector asks for no value. */
const ANY = '*';

const term = (namespace: string, key: string, value: unknown): string => `${namespace}/${key}=${String(value)}`;

/**
 * Where a budget is kept: under a label that every pod of it carries, so that the budgets of a pod are found by its labels.
 * Of an `In` expression that is one of several; a selector that asks for no value stands under the namespace alone.
 */
export function budgetTerms(budget: ApiObject): string[] {
  const namespace = namespaceOf(budget);
  const { selector } = look(budget, 'spec');
  if (!isPlain(selector)) return [];
  const [pair] = Object.entries(look(selector, 'matchLabels'));
  if (pair !== undefined) return [term(namespace, ...pair)];
  const one = items(selector, 'matchExpressions').find(({ operator }) => operator === 'In');
  const values = one?.values;
  if (one === undefined || !Array.isArray(values)) return [`${namespace}/${ANY}`];
  return [...new Set(values.map((value) => term(namespace, String(one.key), value)))];
}

/** Every term under which a budget that selects the pod can be; a budget's pods are found under its own terms. */
export const podTerms = (pod: ApiObject): string[] => [
  `${namespaceOf(pod)}/${ANY}`,
  ...Object.entries(pod.metadata.labels ?? {}).map(([key, value]) => term(namespaceOf(pod), key, value)),
];
