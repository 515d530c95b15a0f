import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { wordsOfLabels, wordsOfSelector } from '../../selectors/selector-words.ts';
import { namespaceOf } from '../runtime/objects.ts';

/** The index keys of a budget: each of its pods has these label values. So the budgets of a pod are found by its labels. */
export function budgetTerms(budget: ApiObject): string[] {
  const { selector } = look(budget, 'spec');
  const [first = []] = wordsOfSelector(namespaceOf(budget), selector as Parameters<typeof wordsOfSelector>[1]);
  return first;
}

/** All index keys that a budget of this pod may have. The pods of a budget are found by the keys of the budget. */
export const podTerms = (pod: ApiObject): string[] => wordsOfLabels(namespaceOf(pod), pod.metadata.labels);
