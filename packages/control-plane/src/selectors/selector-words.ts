import type { SelectorObject } from './label-selector.ts';

/** The index key of a selector that requires no label value. No label has this index key. */
const ANY = '*';

const word = (namespace: string, key: string, value: unknown): string => `${namespace}/${key}=${String(value)}`;

/**
 * Returns the index keys of a selector. A search for given labels uses these keys to find all objects whose selector
 * matches the labels.
 * - The result contains alternative sets of index keys.
 * - A set has one index key for each allowed value of a label.
 * - A selector without values has one index key for the namespace.
 * - An absent selector selects nothing.
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

/** Returns the index keys of all selectors that may match these labels. */
export const wordsOfLabels = (namespace: string, labels: Readonly<Record<string, string>> | undefined): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels ?? {}).map(([key, value]) => word(namespace, key, value)),
];
