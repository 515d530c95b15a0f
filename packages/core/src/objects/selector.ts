import type { LabelSelector } from '@mcm/api';

/** Labels of an object or of a template. */
export type LabelMap = Readonly<Record<string, string>>;

/** Returns true if the labels match. Created by {@link compileSelector}. */
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
    `spec.selector.matchExpressions: operator ${JSON.stringify(operator)} of key ${JSON.stringify(key)} must be one of In, NotIn, Exists, DoesNotExist`,
  );
}

/**
 * Returns true if the selector has no requirement, so it would match every object. The original recognizes only `{}`. With
 * `{matchLabels: {}}`, it adopts every object without a controller.
 */
export const isEmptySelector = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;

/**
 * Creates a matcher. An empty or absent selector matches nothing, so that no owner can adopt everything.
 * @throws Error with the field of an unknown operator
 */
export function compileSelector(selector: LabelSelector | undefined): Matcher {
  if (selector === undefined || isEmptySelector(selector)) return () => false;
  const pairs = Object.entries(selector.matchLabels ?? {});
  const requirements = (selector.matchExpressions ?? []).map(compileRequirement);
  return (labels) =>
    pairs.every(([key, value]) => labels?.[key] === value) && requirements.every((holds) => holds(labels));
}
