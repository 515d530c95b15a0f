import {
  ConditionReasons,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineDeploymentStatus,
} from '@mcm/api';
import { findCondition } from '../objects/conditions.ts';

/**
 * Returns true if the rollout is complete. A deployment with 0 replicas and no machines is complete
 * (docs/compatibility/rules-deployments.md §6.3).
 */
export const isComplete = (deployment: MachineDeployment, status: MachineDeploymentStatus | undefined): boolean => {
  const replicas = deployment.spec.replicas ?? 0;
  return (
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
};

export const isLastRolloutComplete = ({ status }: MachineDeployment): boolean =>
  findCondition(status?.conditions ?? [], MachineDeploymentConditions.Progressing)?.reason ===
  ConditionReasons.NewMachineSetAvailable;
