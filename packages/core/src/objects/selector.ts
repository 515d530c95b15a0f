import type { LabelSelector } from '@mcm/api';

/** The labels of an object or of a template. */
export type LabelMap = Readonly<Record<string, string>>;

/** A function from {@link compileSelector} that returns true if the labels match the selector. */
export type Matcher = (labels: LabelMap | undefined) => boolean;

type Requirement = NonNullable<LabelSelector['matchExpressions']>[number];

function compileRequirement({ key, operator, values = [] }: Requirement): Matcher {
  const allowed = new Set(values);
  switch (operator) {
    case 'In':
      return (labels) => labels?.[key] !== undefined && allowed.has(labels[key]);
    case 'NotIn':
      return (labels) => labels?.[key] === undefined || !allowed.has(labels[key]);
    case 'Exists':
      return (labels) => labels?.[key] !== undefined;
    case 'DoesNotExist':
      return (labels) => labels?.[key] === undefined;
  }
  throw new Error(
    `must have the operator In, NotIn, Exists or DoesNotExist, not ${JSON.stringify(operator)}, for the key ${JSON.stringify(key)}`,
  );
}

/**
 * Returns true if the selector has no requirement. In Kubernetes, a selector without a requirement matches every
 * object. With the selector `{matchLabels: {}}`, the original adopts every object without a controller.
 */
export const isEmptySelector = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;

/**
 * An empty or absent selector matches nothing, so that an owner cannot adopt all objects.
 * @throws Error about an unknown operator
 */
export function compileSelector(selector: LabelSelector | undefined): Matcher {
  if (selector === undefined || isEmptySelector(selector)) return () => false;
  const pairs = Object.entries(selector.matchLabels ?? {});
  const requirements = (selector.matchExpressions ?? []).map(compileRequirement);
  return (labels) =>
    pairs.every(([key, value]) => labels?.[key] === value) && requirements.every((holds) => holds(labels));
}

/** An invalid selector matches nothing, or everything if `otherwise` is true. */
export function matcherOf(selector: LabelSelector | undefined, otherwise = false): Matcher {
  try {
    return compileSelector(selector);
  } catch {
    return () => otherwise;
  }
}
