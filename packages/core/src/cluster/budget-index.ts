import type { LabelSelector } from '@mcm/api';
import type { PodDisruptionBudget } from '@mcm/kube';

/** A term that no label can contain, for budgets whose selector has no exact pair. */
const ANY = '*';

/**
 * The index term of a budget: one of the labels that its pods must have. The search for the budgets of a pod then costs
 * its number of labels, not the number of budgets.
 */
export function budgetTerm({ metadata, spec }: PodDisruptionBudget): string {
  const [pair] = Object.entries((spec.selector as LabelSelector | undefined)?.matchLabels ?? {});
  return `${metadata.namespace ?? ''}/${pair ? pair.join('=') : ANY}`;
}

/** All terms of budgets that may select a pod with these labels. */
export const podTerms = (namespace: string, labels: Readonly<Record<string, string>> = {}): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels).map((pair) => `${namespace}/${pair.join('=')}`),
];
