import {
  ConditionReasons,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentStatus,
} from '@mcm/api';
import {
  type AnyCondition,
  type ConditionChange,
  findCondition,
  setDeploymentCondition,
  withoutCondition,
} from '../../objects/conditions.ts';
import { isComplete } from '../../rollout/rollout-completion.ts';
import type { Conditions } from '../state/status.ts';

const { InvalidSpec, Progressing, Ready, RolloutBlocked, Stalled } = MachineDeploymentConditions;

type Status = MachineDeploymentStatus & { conditions: Conditions };

function stalledBy(conditions: readonly AnyCondition[]): Extract<ConditionChange, { type: 'Stalled' }> | undefined {
  for (const type of [InvalidSpec, RolloutBlocked] as const) {
    const cause = findCondition(conditions, type);
    if (cause?.status === 'True') return stalled(type, cause.message);
  }
  const progress = findCondition(conditions, Progressing);
  const isLate = progress?.status === 'False' && progress.reason === ConditionReasons.ProgressDeadlineExceeded;
  return isLate ? stalled(ConditionReasons.ProgressDeadlineExceeded, progress.message) : undefined;
}

const stalled = (reason: 'InvalidSpec' | 'RolloutBlocked' | 'ProgressDeadlineExceeded', message = '') =>
  ({ type: Stalled, status: 'True', reason, message }) as const;

function readiness(deployment: MachineDeployment, status: Status, isStalled: boolean): ConditionChange {
  const wanted = deployment.spec.replicas ?? 0;
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = status;
  const message = `${updatedReplicas} of ${wanted} machines have the current template. ${availableReplicas} of ${replicas} machines are available.`;
  if (isStalled) return { type: Ready, status: 'False', reason: 'Stalled', message };
  return isComplete(deployment, status)
    ? { type: Ready, status: 'True', reason: 'Complete', message }
    : { type: Ready, status: 'False', reason: 'Incomplete', message };
}

/** Adds the conditions `Ready` and `Stalled`. */
export function withReadiness(deployment: MachineDeployment, status: Status, now: Date): Status {
  const stall = stalledBy(status.conditions);
  const rest = stall === undefined ? withoutCondition(status.conditions, Stalled) : status.conditions;
  const changes = [...(stall ? [stall] : []), readiness(deployment, status, stall !== undefined)];
  const conditions = changes.reduce<readonly AnyCondition[]>((all, change) => {
    const refresh = findCondition(all, change.type)?.message !== change.message;
    return setDeploymentCondition(all, change, now, { refresh });
  }, rest);
  return { ...status, conditions: [...conditions] };
}

/** A process without the flag `--ready-condition` removes the conditions `Ready` and `Stalled`. */
export const withoutReadiness = (status: Status): Status => {
  const isOurs = ({ type }: AnyCondition): boolean => type === Ready || type === Stalled;
  return status.conditions.some(isOurs)
    ? { ...status, conditions: status.conditions.filter((condition) => !isOurs(condition)) }
    : status;
};
