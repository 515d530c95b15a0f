import type {
  ConditionStatus,
  ConditionWords,
  DEPLOYMENT_CONDITIONS,
  MachineDeploymentConditionType,
  MachineSetConditionType,
  SET_CONDITIONS,
} from '@mcm/api';
import { formatTime } from '../values/integers.ts';

/** A condition as both kinds have it; a MachineSet's has no `lastUpdateTime`. */
export interface AnyCondition<T extends string = MachineDeploymentConditionType> {
  type: T;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

/** What a condition of a MachineDeployment should say: words that are told of in its table. */
export type ConditionChange = ConditionWords<typeof DEPLOYMENT_CONDITIONS> & { readonly message: string };

/** What a condition of a MachineSet should say. */
export type SetConditionChange = ConditionWords<typeof SET_CONDITIONS> & { readonly message: string };

export const findCondition = <C extends AnyCondition>(conditions: readonly C[], type: C['type']): C | undefined =>
  conditions.find((condition) => condition.type === type);

export const withoutCondition = <C extends AnyCondition>(conditions: readonly C[], type: C['type']): C[] =>
  conditions.filter((condition) => condition.type !== type);

/**
 * Sets a condition of a MachineDeployment. Same type, status and reason: nothing changes, message and times stay.
 * Otherwise the new one is appended, and keeps its transition time while the status is the same (docs/compatibility/rules-deployments.md §6.7).
 * `refresh` moves `lastUpdateTime` even if status and reason stay.
 */
export function setDeploymentCondition(
  conditions: readonly AnyCondition[],
  change: ConditionChange,
  now: Date,
  options: { readonly refresh?: boolean } = {},
): AnyCondition[] {
  const old = findCondition(conditions, change.type);
  const same = old?.status === change.status && old.reason === change.reason;
  if (same && !options.refresh) return [...conditions];
  const time = formatTime(now);
  const lastTransitionTime = old?.status === change.status ? (old.lastTransitionTime ?? time) : time;
  return [...withoutCondition(conditions, change.type), { ...change, lastUpdateTime: time, lastTransitionTime }];
}

/** The same for a MachineSet: no `lastUpdateTime`, and every change of the reason moves the transition time. */
export function setSetCondition(
  conditions: readonly AnyCondition<MachineSetConditionType>[],
  change: SetConditionChange,
  now: Date,
): AnyCondition<MachineSetConditionType>[] {
  const old = findCondition(conditions, change.type);
  if (old?.status === change.status && old.reason === change.reason) return [...conditions];
  return [...withoutCondition(conditions, change.type), { ...change, lastTransitionTime: formatTime(now) }];
}
