import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import { wordsOfLabels, wordsOfSelector } from '../../selectors/selector-words.ts';
import { namespaceOf } from '../objects/fields.ts';

/** Returns the index keys of a budget. */
export function budgetTerms(budget: ApiObject): string[] {
  const { selector } = look(budget, 'spec');
  const [first = []] = wordsOfSelector(namespaceOf(budget), selector as Parameters<typeof wordsOfSelector>[1]);
  return first;
}

/** Returns all index keys that a budget of the pod may have. */
export const podTerms = (pod: ApiObject): string[] => wordsOfLabels(namespaceOf(pod), pod.metadata.labels);
