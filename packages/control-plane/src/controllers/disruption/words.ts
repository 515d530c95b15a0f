import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, strings } from '../../apimachinery/objects/plain.ts';

function printed(selector: unknown): string {
  const pairs = Object.entries(look({ selector }, 'selector', 'matchLabels')).sort(([a], [b]) => (a < b ? -1 : 1));
  const requirements = items(selector, 'matchExpressions').map(
    (one) =>
      `LabelSelectorRequirement{Key:${String(one.key)},Operator:${String(one.operator)},Values:[${strings(one, 'values').join(' ')}],},`,
  );
  const matchLabels = pairs.map(([key, value]) => `${key}: ${String(value)},`).join('');
  return `&LabelSelector{MatchLabels:map[string]string{${matchLabels}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`;
}

export const unmanagedMessage = (selector: unknown): string =>
  `Pods selected by this PodDisruptionBudget (selector: ${printed(selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;

export const tooManyMessage = ({ metadata }: ApiObject, budgets: readonly ApiObject[]): string =>
  `Pod "${metadata.namespace}"/"${metadata.name}" matches multiple PodDisruptionBudgets.  Chose "${budgets[0]?.metadata.name}" arbitrarily.`;
