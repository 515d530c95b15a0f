import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { wordsOfLabels, wordsOfSelector } from '../../selectors/selector-words.ts';
import { namespaceOf } from '../runtime/objects.ts';

/** The index keys of a budget: values of a label that each of its pods has. The budgets of a pod are found by its labels. */
export function budgetTerms(budget: ApiObject): string[] {
  const { selector } = look(budget, 'spec');
  const [first = []] = wordsOfSelector(namespaceOf(budget), selector as Parameters<typeof wordsOfSelector>[1]);
  return first;
}

/** Every term under which a budget that selects the pod can be; a budget's pods are found under its own terms. */
export const podTerms = (pod: ApiObject): string[] => wordsOfLabels(namespaceOf(pod), pod.metadata.labels);
