import { isEmptySelector, type LabelSelector, selectorMatches } from '@mcm/api';

export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/**
 * Refuses a selector with an unknown operator, which older objects may contain.
 * @throws SelectorError
 */
export function checkSelector(selector: LabelSelector | undefined): void {
  const bad = selector?.matchExpressions?.find(({ operator }) => !OPERATORS.includes(operator));
  if (bad) throw new SelectorError(`${JSON.stringify(bad.operator)} is not a valid label selector operator`);
}

type Labelled = { readonly metadata: { readonly labels?: Record<string, string> } };

/** Some clients write null instead of an absent selector. */
export const isSelecting = (selector: LabelSelector | null | undefined): selector is LabelSelector =>
  selector !== undefined && selector !== null && !isEmptySelector(selector);

/** A selector that is absent or empty matches nothing. */
export const selects = (selector: LabelSelector | null | undefined, { metadata }: Labelled): boolean =>
  isSelecting(selector) && selectorMatches(selector, metadata.labels);
