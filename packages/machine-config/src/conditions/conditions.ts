import type { POOL_CONDITIONS, TEMPLATE_CONDITIONS } from '../constants/condition-meanings.ts';
import type { ConfigEvent } from '../constants/event-meanings.ts';
import type { ConfigCondition } from '../kinds/shared.ts';

type Tables = typeof POOL_CONDITIONS & typeof TEMPLATE_CONDITIONS;

/** A condition that a controller sets, with a reason from the table of its type. */
export type WantedCondition = {
  [Type in keyof Tables]: {
    readonly type: Type;
    readonly status: 'True' | 'False' | 'Unknown';
    readonly reason?: keyof Tables[Type]['reasons'] | (Type extends 'NodeDegraded' ? DegradedNodes : never);
    readonly message?: string;
  };
}[keyof Tables];

type DegradedNodes = `${number} nodes are reporting degraded status on sync`;

/**
 * Returns the condition with a type. If a status contains several conditions of the type, the last one applies, because
 * a changed condition moves to the end.
 */
export const conditionOf = (
  conditions: readonly ConfigCondition[] | undefined,
  type: string,
): ConfigCondition | undefined => conditions?.findLast((condition) => condition.type === type);

/** Returns true if the condition of the type exists and is `True`. */
export const isTrue = (conditions: readonly ConfigCondition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === 'True';

/**
 * Sets a condition like the original: a changed condition moves to the end, and its time changes only with its status.
 * @param now RFC 3339
 */
export function withCondition(
  conditions: readonly ConfigCondition[],
  { type, status, reason = '', message = '' }: WantedCondition,
  now: string,
): readonly ConfigCondition[] {
  const old = conditionOf(conditions, type);
  const same = old?.status === status && (old.reason ?? '') === reason && (old.message ?? '') === message;
  if (same) return conditions;
  const kept = old?.status === status ? old.lastTransitionTime : undefined;
  const others = conditions.filter((condition) => condition.type !== type);
  return [...others, { type, status, lastTransitionTime: kept ?? now, reason, message }];
}

/** An event that a controller sends about a pool. */
export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: ConfigEvent;
  readonly message: string;
}
