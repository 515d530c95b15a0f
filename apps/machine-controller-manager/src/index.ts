export { createNodeGroups, type NodeGroupContext, type ServedNodeGroups } from './autoscaler/groups.ts';
export { registerAutoscalerMetrics } from './autoscaler/metrics.ts';
export { DESCRIPTOR, ENCODER, SERVICE } from './autoscaler/protocol.ts';
export { type AutoscalerContext, type AutoscalerSettings, serveAutoscaler } from './autoscaler/serve.ts';
export { MANAGER_FEATURES, machineControllerManager, managerFlags, managerSettingsOf } from './binary.ts';
export {
  type Controllers,
  createControllers,
  DEFAULT_SETTINGS,
  type Environment,
  type ManagerSettings,
} from './controllers.ts';
export { type RunningManager, runManager } from './run.ts';
