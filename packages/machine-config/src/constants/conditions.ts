/** Conditions of pools. */
export const PoolConditions = {
  Updated: 'Updated',
  Updating: 'Updating',
  NodeDegraded: 'NodeDegraded',
  RenderDegraded: 'RenderDegraded',
  Degraded: 'Degraded',
  /** Ours: whether every `machineRef` of the pool was found. */
  MachineRefResolved: 'MachineRefResolved',
  /** Ours: the target cannot be applied to running nodes, their machines are to be replaced. */
  RequiresReplacement: 'RequiresReplacement',
  /** Ours: too many nodes that were told the target degrade. */
  RolloutHalted: 'RolloutHalted',
  /** Ours: other custom pools claim nodes of the pool, which then get nothing. */
  NodesClaimed: 'NodesClaimed',
  /** Ours: a role does not let the controller write what the pool needs. */
  WritesForbidden: 'WritesForbidden',
  /** Ours: a field or annotation of the pool by which nodes are told says nothing that makes sense. */
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
  /** Ours: fields that nobody reads. It stands first: of the others the last one counts. */
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
  /** Ours: a render was refused; the last good one stays the target. */
  RenderFailed: 'RenderFailed',
  /** Ours: a rendered MachineConfig comes near the size that the API server takes. */
  RenderedConfigLarge: 'RenderedConfigLarge',
  /** Ours: templates, pull secret or ControllerConfig make no MachineConfigs. */
  TemplatesFailed: 'TemplatesFailed',
  /** Ours: a KubeletConfig was refused. */
  KubeletConfigRefused: 'KubeletConfigRefused',
  /** Ours: a KubeletConfig, a ContainerRuntimeConfig or the Ignition config of a MachineConfig has fields that nobody reads. */
  UnknownFields: 'UnknownFields',
  /** Ours: a ContainerRuntimeConfig was refused. */
  ContainerRuntimeConfigRefused: 'ContainerRuntimeConfigRefused',
  /** Ours: a node's daemon asks for something that is neither drain nor uncordon. */
  DrainRequestInvalid: 'DrainRequestInvalid',
  /** Ours: a role does not let the controller write what a pool needs. */
  WritesForbidden: 'WritesForbidden',
  /** Ours: a field or annotation of a pool by which nodes are told says nothing that makes sense. */
  SettingsInvalid: 'SettingsInvalid',
  /** Ours: several custom pools claim a node. */
  NodesClaimed: 'NodesClaimed',
  DrainThresholdExceeded: 'DrainThresholdExceeded',
  DrainFailed: 'DrainFailed',
  /** Ours: the API server has no eviction API. */
  EvictionUnavailable: 'EvictionUnavailable',
  /** Ours: too many updated nodes are degraded; no further node is told the target. */
  RolloutHalted: 'RolloutHalted',
} as const;
