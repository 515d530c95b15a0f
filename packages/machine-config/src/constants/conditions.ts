/** Conditions of pools. */
export const PoolConditions = {
  Updated: 'Updated',
  Updating: 'Updating',
  NodeDegraded: 'NodeDegraded',
  RenderDegraded: 'RenderDegraded',
  Degraded: 'Degraded',
  /** Ours: whether the controller found every `machineRef` of the pool. */
  MachineRefResolved: 'MachineRefResolved',
  /** Ours: the target cannot be applied to running nodes, so their machines must be replaced. */
  RequiresReplacement: 'RequiresReplacement',
  /** Ours: too many nodes with the target are Degraded. */
  RolloutHalted: 'RolloutHalted',
  /** Ours: the rollout waits for a window, for the end of a freeze, or for nodes that postpone. */
  RolloutWaiting: 'RolloutWaiting',
  /** Ours: other custom pools claim nodes of the pool, so no pool updates these nodes. */
  NodesClaimed: 'NodesClaimed',
  /** Ours: the controller lacks a permission to write. */
  WritesForbidden: 'WritesForbidden',
  /** Ours: a field or annotation for the rollout of the pool is invalid. */
  SettingsInvalid: 'SettingsInvalid',
  /** Ours: the pool's canaries have the target. */
  CanaryPassed: 'CanaryPassed',
} as const;

/** Conditions of the ControllerConfig, written by the TemplateController. */
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
  /**
   * Ours: the object has unknown fields. This condition is the first in the list, because readers use the last one as the
   * result.
   */
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
  /** Ours: a render was refused, and the last valid one stays the target. */
  RenderFailed: 'RenderFailed',
  /** Ours: a rendered MachineConfig is almost as large as the limit of the API server. */
  RenderedConfigLarge: 'RenderedConfigLarge',
  /**
   * Ours: the templates, the pull secret or the ControllerConfig are invalid, so the controller writes no MachineConfigs.
   */
  TemplatesFailed: 'TemplatesFailed',
  /** Ours: a KubeletConfig was refused. */
  KubeletConfigRefused: 'KubeletConfigRefused',
  /** Ours: a KubeletConfig, a ContainerRuntimeConfig or the Ignition config of a MachineConfig has unknown fields. */
  UnknownFields: 'UnknownFields',
  /** Ours: a ContainerRuntimeConfig was refused. */
  ContainerRuntimeConfigRefused: 'ContainerRuntimeConfigRefused',
  /** Ours: the daemon of a node requests something other than a drain or an uncordon. */
  DrainRequestInvalid: 'DrainRequestInvalid',
  /** Ours: the controller lacks a permission to write. */
  WritesForbidden: 'WritesForbidden',
  /** Ours: a field or annotation for the rollout of a pool is invalid. */
  SettingsInvalid: 'SettingsInvalid',
  /** Ours: several custom pools claim a node. */
  NodesClaimed: 'NodesClaimed',
  DrainThresholdExceeded: 'DrainThresholdExceeded',
  DrainFailed: 'DrainFailed',
  /** Ours: the API server has no eviction API. */
  EvictionUnavailable: 'EvictionUnavailable',
  /** Ours: the rollout waits for a window, for the end of a freeze, or for nodes that postpone. */
  RolloutWaiting: 'RolloutWaiting',
  /** Ours: too many updated nodes are Degraded, so no further node gets the target. */
  RolloutHalted: 'RolloutHalted',
} as const;
