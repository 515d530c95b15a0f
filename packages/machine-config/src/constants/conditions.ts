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
} as const;

/** Conditions of the ControllerConfig, written by the TemplateController. */
export const TemplateConditions = {
  Completed: 'TemplateControllerCompleted',
  Running: 'TemplateControllerRunning',
  Failing: 'TemplateControllerFailing',
} as const;

/** Conditions of KubeletConfigs and ContainerRuntimeConfigs. */
export const KubeletConditions = { Accepted: 'Accepted', Success: 'Success', Failure: 'Failure' } as const;

/** Reasons of events. */
export const ConfigEvents = {
  SelectingAll: 'SelectingAll',
  RenderedConfigGenerated: 'RenderedConfigGenerated',
  OSImageURLOverridden: 'OSImageURLOverridden',
  SetDesiredConfig: 'SetDesiredConfig',
  Updating: 'Updating',
  Completed: 'Completed',
  DeferringOperatorNodeUpdate: 'DeferringOperatorNodeUpdate',
} as const;
