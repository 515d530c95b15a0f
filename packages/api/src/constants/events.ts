/** Event reasons of the original, on MachineSets and MachineDeployments. */
export const EventReasons = {
  SuccessfulCreate: 'SuccessfulCreate',
  FailedCreate: 'FailedCreate',
  SuccessfulDelete: 'SuccessfulDelete',
  FailedDelete: 'FailedDelete',
  FrozeMachineSet: 'FrozeMachineSet',
  UnfrozeMachineSet: 'UnfrozeMachineSet',
  ScalingMachineSet: 'ScalingMachineSet',
  MachineSetCreateError: 'MachineSetCreateError',
  SelectingAll: 'SelectingAll',
  RollbackRevisionNotFound: 'DeploymentRollbackRevisionNotFound',
  RollbackTemplateUnchanged: 'DeploymentRollbackTemplateUnchanged',
  Rollback: 'DeploymentRollback',
} as const;

/** Reason of an event. */
export type EventReason = (typeof EventReasons)[keyof typeof EventReasons];

/** `source.component` of events. */
export const EventSources = {
  MachineControllerManager: 'machine-controller-manager',
  MachineSetController: 'machineset-controller',
  MachineController: 'machine-controller',
} as const;
