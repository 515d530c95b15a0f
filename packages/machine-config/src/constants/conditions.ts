/** Conditions of pools. */
export const PoolConditions = {
  Updated: 'Updated',
  Updating: 'Updating',
  NodeDegraded: 'NodeDegraded',
  RenderDegraded: 'RenderDegraded',
  Degraded: 'Degraded',
  /** The controller found every `machineRef` of the pool. Only in mcm. */
  MachineRefResolved: 'MachineRefResolved',
  /** Running nodes cannot apply the target, so mcm must replace their machines. Only in mcm. */
  RequiresReplacement: 'RequiresReplacement',
  /** Too many nodes with the target are Degraded. Only in mcm. */
  RolloutHalted: 'RolloutHalted',
  /** The rollout waits for a window, for the end of a freeze, or for nodes that postpone their update. Only in mcm. */
  RolloutWaiting: 'RolloutWaiting',
  /** Several custom pools select a node of the pool, so no pool updates the node. Only in mcm. */
  NodesClaimed: 'NodesClaimed',
  /** The controller lacks a permission for its writes. Only in mcm. */
  WritesForbidden: 'WritesForbidden',
  /** A field or an annotation that controls the rollout of the pool is invalid. Only in mcm. */
  SettingsInvalid: 'SettingsInvalid',
  /** The canaries of the pool have the target and completed their soak time. Only in mcm. */
  CanaryPassed: 'CanaryPassed',
} as const;

/** Conditions that the TemplateController writes on the ControllerConfig. */
export const TemplateConditions = {
  Completed: 'TemplateControllerCompleted',
  Running: 'TemplateControllerRunning',
  Failing: 'TemplateControllerFailing',
} as const;

/** Conditions of KubeletConfigs and ContainerRuntimeConfigs. */
export const KubeletConditions = {
  Accepted: 'Accepted',
  Success: 'Success',
  Failure: 'Failure',
  /** The condition is always first in the list, because programs read the last condition as the result. Only in mcm. */
  UnknownFields: 'UnknownFields',
} as const;

/** Reasons of events. */
export const ConfigEvents = {
  SelectingAll: 'SelectingAll',
  RenderedConfigGenerated: 'RenderedConfigGenerated',
  OSImageURLOverridden: 'OSImageURLOverridden',
  SetDesiredConfig: 'SetDesiredConfig',
  Updating: 'Updating',
  Completed: 'Completed',
  DeferringOperatorNodeUpdate: 'DeferringOperatorNodeUpdate',
  /**
   * The controller refused to render a pool, and the last valid rendered MachineConfig stays the target. Only in mcm.
   */
  RenderFailed: 'RenderFailed',
  /** The size of a rendered MachineConfig is near the limit of the API server. Only in mcm. */
  RenderedConfigLarge: 'RenderedConfigLarge',
  /**
   * The templates, the pull secret or the ControllerConfig are invalid, so the controller writes no MachineConfigs. Only in
   * mcm.
   */
  TemplatesFailed: 'TemplatesFailed',
  /** Only in mcm. */
  KubeletConfigRefused: 'KubeletConfigRefused',
  /** A KubeletConfig, a ContainerRuntimeConfig or the Ignition config of a MachineConfig has unknown fields. Only in mcm. */
  UnknownFields: 'UnknownFields',
  /** Only in mcm. */
  ContainerRuntimeConfigRefused: 'ContainerRuntimeConfigRefused',
  /** The daemon of a node requests something other than a drain or an uncordon. Only in mcm. */
  DrainRequestInvalid: 'DrainRequestInvalid',
  /** Only in mcm. */
  WritesForbidden: 'WritesForbidden',
  /** Only in mcm. */
  SettingsInvalid: 'SettingsInvalid',
  /** Only in mcm. */
  NodesClaimed: 'NodesClaimed',
  DrainThresholdExceeded: 'DrainThresholdExceeded',
  DrainFailed: 'DrainFailed',
  /** Only in mcm. */
  EvictionUnavailable: 'EvictionUnavailable',
  /** The rollout waits for a window, for the end of a freeze, or for nodes that postpone their update. Only in mcm. */
  RolloutWaiting: 'RolloutWaiting',
  /** Too many updated nodes are Degraded, so no further node gets the target. Only in mcm. */
  RolloutHalted: 'RolloutHalted',
} as const;
