import type { LabelSelector } from '@mcm/api';
import type { PodDisruptionBudget } from '@mcm/kube';

/** A term that can stand in no label: budgets whose selector names no exact pair. */
const ANY = '*';

/**
 * Under which term a budget is kept: one of the labels that a pod must carry for it, so that looking for the budgets of
 * a pod costs what its labels count, and not what the namespace's budgets count.
 */
export function budgetTerm({ metadata, spec }: PodDisruptionBudget): string {
  const [pair] = Object.entries((spec.selector as LabelSelector | undefined)?.matchLabels ?? {});
  return `${metadata.namespace ?? ''}/${pair ? pair.join('=') : ANY}`;
}

/** Every term under which a budget that selects a pod with these labels can be. */
export const podTerms = (namespace: string, labels: Readonly<Record<string, string>> = {}): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels).map((pair) => `${namespace}/${pair.join('=')}`),
];
