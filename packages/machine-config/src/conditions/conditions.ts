import type { POOL_CONDITIONS, TEMPLATE_CONDITIONS } from '../constants/condition-meanings.ts';
import type { ConfigEvent } from '../constants/event-meanings.ts';
import type { ConfigCondition } from '../kinds/shared.ts';

type Tables = typeof POOL_CONDITIONS & typeof TEMPLATE_CONDITIONS;

/** A condition that a controller sets. The reason must be in the table of its condition type. */
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
 * a changed condition moves to the end. Source: the original's GetMachineConfigPoolCondition.
 */
export const conditionOf = (
  conditions: readonly ConfigCondition[] | undefined,
  type: string,
): ConfigCondition | undefined => conditions?.findLast((condition) => condition.type === type);

/** Returns true if the condition of the type exists and is `True`. */
export const isTrue = (conditions: readonly ConfigCondition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === 'True';

/**
 * Sets a condition, and keeps the conditions of other types.
 * - If status, reason and message are equal, nothing changes.
 * - A changed condition moves to the end. The time of the condition changes only with the status.
 * - If the list contains several conditions of the type, the last one is compared. The result replaces all of them.
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
