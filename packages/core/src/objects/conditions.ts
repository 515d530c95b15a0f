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
 * Sets a condition of a MachineDeployment. If type, status and reason are the same, nothing changes, unless `refresh`
 * is true. A changed condition is appended at the end. If the status is the same, the condition keeps its transition
 * time (docs/compatibility/rules-deployments.md §6.7).
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

/** Unlike in a MachineDeployment, every change of the reason updates the transition time. */
export function setSetCondition(
  conditions: readonly AnyCondition<MachineSetConditionType>[],
  change: SetConditionChange,
  now: Date,
): AnyCondition<MachineSetConditionType>[] {
  const old = findCondition(conditions, change.type);
  if (old?.status === change.status && old.reason === change.reason) return [...conditions];
  return [...withoutCondition(conditions, change.type), { ...change, lastTransitionTime: formatTime(now) }];
}
