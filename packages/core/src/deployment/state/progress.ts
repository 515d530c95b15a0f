import {
  ConditionReasons,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentStatus,
  MachineSetConditions,
} from '@mcm/api';
import {
  type AnyCondition,
  findCondition,
  setDeploymentCondition,
  withoutCondition,
} from '../../objects/conditions.ts';
import { isComplete } from '../../rollout/rollout-completion.ts';
import { parseInstant } from '../../values/integers.ts';
import type { Conditions, CountedSets } from './status.ts';

const PROGRESSING = MachineDeploymentConditions.Progressing;
const WAITING = MachineDeploymentConditions.RolloutWaiting;

/** Returns true if the rollout made progress since the stored status (docs/compatibility/rules-deployments.md §6.4). */
export function hasProgressed(stored: MachineDeploymentStatus | undefined, now: MachineDeploymentStatus): boolean {
  const before = stored ?? {};
  const outdated = (status: MachineDeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    outdated(now) < outdated(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** Returns the progress deadline in milliseconds since 1970, or undefined if the deployment has no deadline. */
export function progressDeadline(
  deployment: MachineDeployment,
  conditions: readonly AnyCondition[],
): number | undefined {
  const seconds = deployment.spec.progressDeadlineSeconds;
  const condition = findCondition(conditions, PROGRESSING);
  if (seconds === undefined || condition === undefined) return undefined;
  if (condition.reason === ConditionReasons.NewMachineSetAvailable) return undefined;
  const since = parseInstant(condition.lastUpdateTime);
  return since === undefined ? undefined : since + seconds * 1000;
}

function isTimedOut(deployment: MachineDeployment, conditions: readonly AnyCondition[], now: Date): boolean {
  if (deployment.spec.progressDeadlineSeconds === undefined) return false;
  const reason = findCondition(conditions, PROGRESSING)?.reason;
  if (reason === ConditionReasons.ProgressDeadlineExceeded) return true;
  const deadline = progressDeadline(deployment, conditions);
  return deadline !== undefined && deadline < now.getTime();
}

/** A failure of the current set takes precedence over failures in old sets. */
function withReplicaFailure(conditions: readonly AnyCondition[], { current, old }: CountedSets): AnyCondition[] {
  const type = MachineSetConditions.ReplicaFailure;
  const all = current ? [current, ...old] : old;
  const found = all
    .map(({ set }) => findCondition(set.status?.machineSetCondition ?? [], type))
    .find((condition) => condition !== undefined);
  if (found === undefined) return withoutCondition(conditions, type);
  const mine = findCondition(conditions, type);
  if (mine?.status === found.status && mine.reason === found.reason) return [...conditions];
  const time = found.lastTransitionTime === undefined ? {} : { lastUpdateTime: found.lastTransitionTime };
  return [...withoutCondition(conditions, type), { ...found, ...time }];
}

export interface ProgressTimes {
  readonly now: Date;
  /** The end of the last soak time of the rollout, which can be in the past. */
  readonly soakEnd?: Date | undefined;
}

/** Adds the condition `Progressing` (docs/compatibility/rules-deployments.md §6.2). */
export function withProgress(
  deployment: MachineDeployment,
  sets: CountedSets,
  status: MachineDeploymentStatus & { conditions: Conditions },
  times: ProgressTimes,
): MachineDeploymentStatus & { conditions: Conditions } {
  const conditions = progressConditions(deployment, sets, status, times);
  return { ...status, conditions: withReplicaFailure(conditions, sets) };
}

/**
 * If the current set is new, the stored number of updated machines belongs to an older set, and the function returns
 * zero.
 */
function storedCounts(
  stored: MachineDeploymentStatus | undefined,
  conditions: readonly AnyCondition[],
): MachineDeploymentStatus | undefined {
  const now = findCondition(conditions, PROGRESSING);
  const before = findCondition(stored?.conditions ?? [], PROGRESSING);
  const isNewSet = now?.reason === ConditionReasons.NewMachineSetCreated && now.message !== before?.message;
  return isNewSet && stored !== undefined ? { ...stored, updatedReplicas: 0 } : stored;
}

/**
 * Returns true if the rollout waited since its last progress, and the wait has ended. During the wait, the progress
 * deadline was suspended.
 */
function hasWaited(
  { spec, status }: MachineDeployment,
  conditions: readonly AnyCondition[],
  { now, soakEnd }: ProgressTimes,
): boolean {
  if (spec.progressDeadlineSeconds === undefined) return false;
  const waited = findCondition(status?.conditions ?? [], WAITING) && !findCondition(conditions, WAITING);
  const since = parseInstant(findCondition(conditions, PROGRESSING)?.lastUpdateTime);
  const soaked = soakEnd !== undefined && since !== undefined && soakEnd <= now && soakEnd.getTime() > since;
  return waited === true || soaked;
}

function progressConditions(
  deployment: MachineDeployment,
  { current }: CountedSets,
  status: MachineDeploymentStatus & { conditions: Conditions },
  times: ProgressTimes,
): readonly AnyCondition[] {
  const { now } = times;
  const { conditions } = status;
  const stored = findCondition(deployment.status?.conditions ?? [], PROGRESSING);
  const settled = ({ replicas = 0, updatedReplicas = 0 }: MachineDeploymentStatus) => replicas === updatedReplicas;
  // A deployment is complete only if its stored status is complete too. A rollout can delete all old machines and
  // create all new machines between two reconciles. The cluster autoscaler detects the end of a rollout by the reason
  // of the condition (docs/compatibility/rules-deployments.md §9.4).
  const done =
    settled(status) && settled(deployment.status ?? {}) && stored?.reason === ConditionReasons.NewMachineSetAvailable;
  if (done) return conditions;
  const subject = current ? `MachineSet "${current.set.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return setDeploymentCondition(
      conditions,
      { type: PROGRESSING, status: 'True', reason: ConditionReasons.NewMachineSetAvailable, message },
      now,
    );
  }
  if (hasProgressed(storedCounts(deployment.status, conditions), status) || hasWaited(deployment, conditions, times)) {
    const change = {
      type: PROGRESSING,
      status: 'True',
      reason: ConditionReasons.MachineSetUpdated,
      message: `${subject} is progressing.`,
    } as const;
    return setDeploymentCondition(conditions, change, now, { refresh: true });
  }
  if (isTimedOut(deployment, conditions, now)) {
    const message = `${subject} has timed out progressing.`;
    return setDeploymentCondition(
      conditions,
      { type: PROGRESSING, status: 'False', reason: ConditionReasons.ProgressDeadlineExceeded, message },
      now,
    );
  }
  return conditions;
}

/**
 * Returns the condition `Progressing` for a pause or its end, or undefined for no change
 * (docs/compatibility/rules-deployments.md §1.8). After a missed progress deadline, the reason
 * `ProgressDeadlineExceeded` stays during a pause.
 */
export function pauseCondition(deployment: MachineDeployment, now: Date): AnyCondition[] | undefined {
  const conditions = deployment.status?.conditions ?? [];
  const reason = findCondition(conditions, PROGRESSING)?.reason;
  if (reason === ConditionReasons.ProgressDeadlineExceeded) return undefined;
  const paused = deployment.spec.paused === true;
  if (paused === (reason === ConditionReasons.DeploymentPaused)) return undefined;
  const change = paused
    ? { reason: ConditionReasons.DeploymentPaused, message: 'Deployment is paused' }
    : { reason: ConditionReasons.DeploymentResumed, message: 'Deployment is resumed' };
  return setDeploymentCondition(conditions, { type: PROGRESSING, status: 'Unknown', ...change }, now);
}
