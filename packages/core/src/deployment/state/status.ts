import {
  ConditionReasons,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentStatus,
  type MachineSet,
} from '@mcm/api';
import { defined } from '@mcm/kube';
import { setDeploymentCondition } from '../../objects/conditions.ts';
import type { MachineCounts } from '../../set/status.ts';
import { semanticEqual } from '../../values/semantic-equal.ts';
import { sum } from './size.ts';

export interface CountedSet {
  readonly set: MachineSet;
  readonly counts: MachineCounts;
}

export interface CountedSets {
  readonly current: CountedSet | undefined;
  readonly old: readonly CountedSet[];
}

export type Conditions = NonNullable<MachineDeploymentStatus['conditions']>;

/** Preserved failed machines do not reduce the number of available replicas. */
function availability(
  deployment: MachineDeployment,
  available: number,
  preservedFailed: number,
  maxUnavailable: number,
) {
  const required = Math.max((deployment.spec.replicas ?? 0) - maxUnavailable - preservedFailed, 0);
  const type = MachineDeploymentConditions.Available;
  return available >= required
    ? ({
        type,
        status: 'True',
        reason: ConditionReasons.MinimumReplicasAvailable,
        message: 'Deployment has minimum availability.',
      } as const)
    : ({
        type,
        status: 'False',
        reason: ConditionReasons.MinimumReplicasUnavailable,
        message: 'Deployment does not have minimum availability.',
      } as const);
}

/**
 * Returns the status of the deployment without the progress of the rollout (docs/compatibility/rules-deployments.md
 * §6.1). The statuses of the sets may be outdated, so the counts come from the machines.
 */
export function deploymentStatus(
  deployment: MachineDeployment,
  { current, old }: CountedSets,
  maxUnavailable: number,
  now: Date,
): MachineDeploymentStatus & { conditions: Conditions } {
  const all = current ? [...old, current] : old;
  const available = sum(all, ({ counts }) => counts.available);
  const preservedFailed = sum(all, ({ counts }) => counts.preservedFailed);
  const asked = sum(all, ({ set }) => set.spec.replicas ?? 0);
  const failed = all.flatMap(({ counts }) => counts.failed);
  const { collisionCount, conditions = [] } = deployment.status ?? {};
  return defined({
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum(all, ({ counts }) => counts.replicas),
    updatedReplicas: current?.counts.replicas ?? 0,
    readyReplicas: sum(all, ({ counts }) => counts.ready),
    availableReplicas: available,
    preservedFailedReplicas: preservedFailed,
    unavailableReplicas: Math.max(asked - available, 0),
    collisionCount,
    failedMachines: failed.length > 0 ? failed : undefined,
    conditions: setDeploymentCondition(
      conditions,
      availability(deployment, available, preservedFailed, maxUnavailable),
      now,
    ),
  });
}

export const deploymentStatusDiffers = (
  stored: MachineDeploymentStatus | undefined,
  wanted: MachineDeploymentStatus,
): boolean => !semanticEqual(stored, wanted);
