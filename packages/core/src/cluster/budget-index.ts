import type { LabelSelector } from '@mcm/api';
import type { PodDisruptionBudget } from '@mcm/kube';

const ANY = '*';

/**
 * Returns the index key of a budget: one label that its selector requires. The search for the budgets of a pod then
 * needs one lookup for each label of the pod.
 */
export function budgetTerm({ metadata, spec }: PodDisruptionBudget): string {
  const [pair] = Object.entries((spec.selector as LabelSelector | undefined)?.matchLabels ?? {});
  return `${metadata.namespace ?? ''}/${pair ? pair.join('=') : ANY}`;
}

export const podTerms = (namespace: string, labels: Readonly<Record<string, string>> = {}): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels).map((pair) => `${namespace}/${pair.join('=')}`),
];
