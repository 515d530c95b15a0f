import type {
  ConditionStatus,
  ConditionWords,
  DEPLOYMENT_CONDITIONS,
  MachineDeploymentConditionType,
  MachineSetConditionType,
  SET_CONDITIONS,
} from '@mcm/api';
import { formatTime } from '@mcm/api';

/** A condition of a MachineSet has no `lastUpdateTime`. */
export interface AnyCondition<T extends string = MachineDeploymentConditionType> {
  type: T;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

export type ConditionChange = ConditionWords<typeof DEPLOYMENT_CONDITIONS> & { readonly message: string };

export type SetConditionChange = ConditionWords<typeof SET_CONDITIONS> & { readonly message: string };

export const findCondition = <C extends AnyCondition>(conditions: readonly C[], type: C['type']): C | undefined =>
  conditions.find((condition) => condition.type === type);

export const withoutCondition = <C extends AnyCondition>(conditions: readonly C[], type: C['type']): C[] =>
  conditions.filter((condition) => condition.type !== type);

/**
 * Returns the conditions of a MachineDeployment with the changed condition at the end
 * (docs/compatibility/rules-deployments.md §6.7).
 * - A condition of a MachineDeployment keeps its transition time if only its reason changes.
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

/**
 * In contrast to a MachineDeployment, a change of the reason also updates the transition time of a MachineSet's
 * condition.
 */
export function setSetCondition(
  conditions: readonly AnyCondition<MachineSetConditionType>[],
  change: SetConditionChange,
  now: Date,
): AnyCondition<MachineSetConditionType>[] {
  const old = findCondition(conditions, change.type);
  if (old?.status === change.status && old.reason === change.reason) return [...conditions];
  return [...withoutCondition(conditions, change.type), { ...change, lastTransitionTime: formatTime(now) }];
}
