import type { SelectorObject } from './label-selector.ts';

/** The index word of selectors without a value. The word is not valid as a label. */
const ANY = '*';

const word = (namespace: string, key: string, value: unknown): string => `${namespace}/${key}=${String(value)}`;

/**
 * Index words of an object with a label selector. With them, the index finds the objects that select a set of labels.
 * Returns alternative sets; one set is sufficient. A set has one word for each allowed value of a label. A selector without
 * values has one word for the namespace. An absent selector selects nothing.
 */
export function wordsOfSelector(namespace: string, selector: SelectorObject | null | undefined): string[][] {
  if (selector === undefined || selector === null) return [];
  const { matchLabels, matchExpressions } = selector;
  const sets = Object.entries(matchLabels ?? {}).map(([key, value]) => [word(namespace, key, value)]);
  for (const { key, operator, values } of matchExpressions ?? []) {
    if (operator === 'In' && values !== undefined)
      sets.push([...new Set(values)].map((one) => word(namespace, key, one)));
  }
  return sets.length === 0 ? [[`${namespace}/${ANY}`]] : sets;
}

/** All index words of objects whose selector may match these labels. */
export const wordsOfLabels = (namespace: string, labels: Readonly<Record<string, string>> | undefined): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels ?? {}).map(([key, value]) => word(namespace, key, value)),
];
