/** Status of a condition. */
export type ConditionStatus = 'True' | 'False' | 'Unknown';

/**
 * Condition types in `MachineDeployment.status.conditions`. Except for `Ready`, a condition that the original does not
 * have exists only while there is a problem.
 */
export const MachineDeploymentConditions = {
  Available: 'Available',
  Progressing: 'Progressing',
  ReplicaFailure: 'ReplicaFailure',
  Frozen: 'Frozen',
  InvalidSpec: 'InvalidSpec',
  /** The rollout cannot continue until a user changes the spec. */
  RolloutBlocked: 'RolloutBlocked',
  /** The rollout waits for a window, or for the end of a freeze. */
  RolloutWaiting: 'RolloutWaiting',
  /** Many machines became unreachable at the same time, so mcm does not replace unhealthy machines. */
  ReplacementHeld: 'ReplacementHeld',
  /** The manager ignores an invalid part of the object and applies the rest (only in mcm). */
  InputIgnored: 'InputIgnored',
  /**
   * `Ready` is true if all machines have the current template and are available. mcm writes `Ready` only with
   * `--ready-condition`.
   */
  Ready: 'Ready',
  /**
   * `Stalled` is true if the deployment cannot become ready without a change by a user. mcm writes `Stalled`
   * only with `--ready-condition`.
   */
  Stalled: 'Stalled',
} as const;

/** The type of a MachineDeployment condition. */
export type MachineDeploymentConditionType = keyof typeof MachineDeploymentConditions;

/** Condition types in `MachineSet.status.machineSetCondition`. */
export const MachineSetConditions = {
  ReplicaFailure: 'ReplicaFailure',
  Frozen: 'Frozen',
  /** The spec is invalid, so the controller does not reconcile the object. */
  InvalidSpec: 'InvalidSpec',
  /**
   * Many machines became unreachable at the same time, so mcm does not replace unhealthy machines. The manager writes
   * the condition `ReplacementHeld` on MachineSets without a MachineDeployment.
   */
  ReplacementHeld: 'ReplacementHeld',
} as const;

/** Type of a MachineSet condition. */
export type MachineSetConditionType = keyof typeof MachineSetConditions;

/** Reasons of MachineDeployment and MachineSet conditions. Source: pkg/controller/{deployment_util,machine_safety}.go. */
export const ConditionReasons = {
  MinimumReplicasAvailable: 'MinimumReplicasAvailable',
  MinimumReplicasUnavailable: 'MinimumReplicasUnavailable',
  NewMachineSetCreated: 'NewMachineSetCreated',
  FoundNewMachineSet: 'FoundNewMachineSet',
  MachineSetUpdated: 'MachineSetUpdated',
  NewMachineSetAvailable: 'NewMachineSetAvailable',
  ProgressDeadlineExceeded: 'ProgressDeadlineExceeded',
  MachineSetCreateError: 'MachineSetCreateError',
  DeploymentPaused: 'DeploymentPaused',
  DeploymentResumed: 'DeploymentResumed',
  OverShootingReplicaCount: 'OverShootingReplicaCount',
  UnderShootingReplicaCount: 'UnderShootingReplicaCount',
  MachineDeploymentStateSync: 'MachineDeploymentStateSync',
  UnfreezeAnnotation: 'UnfreezeAnnotation',
  FailedCreate: 'FailedCreate',
  FailedDelete: 'FailedDelete',
} as const;

/** Reason of a MachineDeployment or MachineSet condition. */
export type ConditionReason = keyof typeof ConditionReasons;

/** The types of Node conditions. */
export const NodeConditions = {
  InPlaceUpdate: 'InPlaceUpdate',
  Preserved: 'Preserved',
  Terminating: 'Terminating',
  Ready: 'Ready',
  ReadonlyFilesystem: 'ReadonlyFilesystem',
} as const;

/**
 * Types of conditions that the machine controller writes only to the status of a Machine. The original does not have
 * these conditions.
 */
export const MachineConditions = {
  /** The drain timeout expired while pods remained, so mcm ended the drain (undrainable policy `Fail`). */
  DrainFailed: 'DrainFailed',
} as const;

/** Reason of the machine condition `DrainFailed`. */
export const DRAIN_TIMEOUT_EXPIRED = 'DrainTimeoutExpired';

/** Reasons of the Node condition `InPlaceUpdate`, in the order in which they occur during an update. */
export const InPlaceUpdateReasons = {
  CandidateForUpdate: 'CandidateForUpdate',
  SelectedForUpdate: 'SelectedForUpdate',
  DrainSuccessful: 'DrainSuccessful',
  ReadyForUpdate: 'ReadyForUpdate',
  UpdateSuccessful: 'UpdateSuccessful',
  UpdateFailed: 'UpdateFailed',
} as const;

/** Reason of the node condition `InPlaceUpdate`. */
export type InPlaceUpdateReason = keyof typeof InPlaceUpdateReasons;

/**
 * Reasons of the Node condition `Preserved`. Programs compare the exact text of a reason. Each reason is a sentence
 * with a full stop.
 */
export const PreservedReasons = {
  ByMCM: 'Preserved by MCM.',
  ByUser: 'Preserved by user.',
  Stopped: 'Preservation stopped.',
} as const;

/**
 * Parts of the message in the Node condition `Preserved`. Programs search for these texts in the message of the
 * condition `Preserved`, so the texts must not change.
 */
export const PreservedMessages = {
  Drained: 'Preserved node drained successfully.',
  NotDrained: 'Preserved node could not be drained.',
} as const;

/** Reasons of the node condition `Terminating`. */
export const TerminatingReasons = { ScaleDown: 'ScaleDown', Unhealthy: 'Unhealthy' } as const;

/**
 * Default of `--node-conditions` and of `spec.nodeConditions`. A machine is unhealthy if one of these Node conditions
 * is not `False`.
 */
export const DEFAULT_NODE_CONDITIONS = 'KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable';
