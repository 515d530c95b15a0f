import { isEmptySelector, type LabelSelector, selectorMatches } from '@mcm/api';

/** A selector that names an operator which Kubernetes does not have. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/**
 * Checks a selector. The CRDs refuse unknown operators; objects stored before they did may have some.
 * @throws SelectorError
 */
export function checkSelector(selector: LabelSelector | undefined): void {
  const bad = selector?.matchExpressions?.find(({ operator }) => !OPERATORS.includes(operator));
  if (bad) throw new SelectorError(`${JSON.stringify(bad.operator)} is not a valid label selector operator`);
}

type Labelled = { readonly metadata: { readonly labels?: Record<string, string> } };

/** Whether there is a selector with a requirement. Objects of other clients may hold null for none. */
export const isSelecting = (selector: LabelSelector | null | undefined): selector is LabelSelector =>
  selector !== undefined && selector !== null && !isEmptySelector(selector);

/** Whether a selector that selects something selects an object: absent and empty ones select nothing. */
export const selects = (selector: LabelSelector | null | undefined, { metadata }: Labelled): boolean =>
  isSelecting(selector) && selectorMatches(selector, metadata.labels);
