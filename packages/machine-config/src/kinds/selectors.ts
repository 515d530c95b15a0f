import { isEmptySelector, type LabelSelector, selectorMatches } from '@mcm/api';

export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/**
 * Refuses a selector with an unknown operator. The CRDs refuse unknown operators, but older objects may contain them.
 * @throws SelectorError
 */
export function checkSelector(selector: LabelSelector | undefined): void {
  const bad = selector?.matchExpressions?.find(({ operator }) => !OPERATORS.includes(operator));
  if (bad) throw new SelectorError(`${JSON.stringify(bad.operator)} is not a valid label selector operator`);
}

type Labelled = { readonly metadata: { readonly labels?: Record<string, string> } };

/** Returns true if a selector exists. Some clients write null instead of an absent selector. */
export const isSelecting = (selector: LabelSelector | null | undefined): selector is LabelSelector =>
  selector !== undefined && selector !== null && !isEmptySelector(selector);

/** Returns true if the selector matches the labels. An absent or empty selector matches nothing. */
export const selects = (selector: LabelSelector | null | undefined, { metadata }: Labelled): boolean =>
  isSelecting(selector) && selectorMatches(selector, metadata.labels);
