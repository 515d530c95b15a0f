import type { POOL_CONDITIONS, TEMPLATE_CONDITIONS } from '../constants/condition-meanings.ts';
import type { ConfigCondition } from '../kinds/shared.ts';

type Tables = typeof POOL_CONDITIONS & typeof TEMPLATE_CONDITIONS;

/** A condition as it should be, in words that are told of in its table; when it changed is found out. */
export type WantedCondition = {
  [Type in keyof Tables]: {
    readonly type: Type;
    readonly status: 'True' | 'False' | 'Unknown';
    readonly reason?: keyof Tables[Type]['reasons'] | (Type extends 'NodeDegraded' ? DegradedNodes : never);
    readonly message?: string;
  };
}[keyof Tables];

/** The original's reason of `NodeDegraded`. */
type DegradedNodes = `${number} nodes are reporting degraded status on sync`;

/** The condition of a type, or undefined. Never look at positions: a changed condition moves to the end. */
export const conditionOf = (
  conditions: readonly ConfigCondition[] | undefined,
  type: string,
): ConfigCondition | undefined => conditions?.find((condition) => condition.type === type);

/** Whether the condition of that type is there and `True`. */
export const isTrue = (conditions: readonly ConfigCondition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === 'True';

/**
 * Sets a condition: nothing changes if status, reason and message are the same; otherwise it moves to the end, with its
 * time kept as long as the status is. Entries of other types stay, further ones of the same type go.
 * @param now RFC 3339
 */
export function withCondition(
  conditions: readonly ConfigCondition[],
  { type, status, reason = '', message = '' }: WantedCondition,
  now: string,
): readonly ConfigCondition[] {
  const old = conditionOf(conditions, type);
  const entries = conditions.filter((condition) => condition.type === type);
  const same = old?.status === status && (old.reason ?? '') === reason && (old.message ?? '') === message;
  if (same) return conditions;
  const kept = old?.status === status && entries.length === 1 ? old.lastTransitionTime : undefined;
  const others = conditions.filter((condition) => condition.type !== type);
  return [...others, { type, status, lastTransitionTime: kept ?? now, reason, message }];
}
