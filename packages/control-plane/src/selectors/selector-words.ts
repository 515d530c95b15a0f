import type { SelectorObject } from './label-selector.ts';

/** Stands in no label: for selectors that ask for no value. */
const ANY = '*';

const word = (namespace: string, key: string, value: unknown): string => `${namespace}/${key}=${String(value)}`;

/**
 * Under which words an object with a label selector can be kept, so that those which select a set of labels are found by these: sets, each of
 * which suffices. A set has one word for each value that one label may have; a selector that asks for no value stands under the namespace alone.
 * An absent selector selects nothing.
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

/** Every word under which something that selects these labels can be. */
export const wordsOfLabels = (namespace: string, labels: Readonly<Record<string, string>> | undefined): string[] => [
  `${namespace}/${ANY}`,
  ...Object.entries(labels ?? {}).map(([key, value]) => word(namespace, key, value)),
];
