import type { LabelSelector, LabelSelectorRequirement } from './shared.ts';

export type LabelMap = Readonly<Record<string, string>> | undefined;

const labelOf = (labels: LabelMap, key: string): string | undefined =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;

/** Returns true if the labels match one requirement. An absent label matches `NotIn` and `DoesNotExist`. */
export function requirementHolds(requirement: LabelSelectorRequirement, labels: LabelMap): boolean {
  const value = labelOf(labels, requirement.key);
  const listed = value !== undefined && (requirement.values ?? []).includes(value);
  switch (requirement.operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false; // A requirement with an unknown operator matches no labels.
  }
}

/**
 * Returns true if a selector matches the labels. An absent selector matches no labels, and an empty selector matches
 * all labels.
 */
export function selectorMatches(selector: LabelSelector | undefined, labels: LabelMap): boolean {
  if (selector === undefined) return false;
  const pairs = Object.entries(selector.matchLabels ?? {});
  return (
    pairs.every(([key, value]) => labelOf(labels, key) === value) &&
    (selector.matchExpressions ?? []).every((requirement) => requirementHolds(requirement, labels))
  );
}

/** Returns true if the selector is empty. */
export const isEmptySelector = (selector: LabelSelector): boolean =>
  Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;

/** Formats a selector for the query of a list or watch: `app=pool,zone in (a,b),!old`. */
export function formatSelector(selector: LabelSelector): string {
  const pairs = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [...pairs, ...(selector.matchExpressions ?? []).map(formatRequirement)].sort().join(',');
}

function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  const list = `(${[...values].sort().join(',')})`;
  if (operator === 'In') return `${key} in ${list}`;
  if (operator === 'NotIn') return `${key} notin ${list}`;
  return operator === 'Exists' ? key : `!${key}`;
}
