import type { LabelSelector } from '@mcm/api';
import type { PodDisruptionBudget } from '@mcm/kube';

const ANY = '*';

/** With an index of required labels, the search for the budgets of a pod needs one step for each label of the pod. */
export function budgetTerm({ metadata, spec }: PodDisruptionBudget): string {
  const [pair] = Object.entries((spec.selector as LabelSelector | undefined)?.matchLabels ?? {});
  return `${metadata.namespace ?? ''}/${pair ? pair.join('=') : ANY}`;
}

export const podTerms = (namespace: string, labels: Readonly<Record<string, string>> = {}): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels).map((pair) => `${namespace}/${pair.join('=')}`),
];
