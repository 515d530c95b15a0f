/** Machine configs: kinds, Ignition, rendering, pools, kubelet configs, templates, and their controllers. */

export * from './certificates/index.ts';
export * from './constants/annotations.ts';
export * from './constants/condition-meanings.ts';
export * from './constants/conditions.ts';
export * from './constants/event-meanings.ts';
export * from './constants/labels.ts';
export * from './constants/names.ts';
export * from './constants/states.ts';
export { type ConfigCaches, type ConfigContext, createConfigCaches, NODE_LABEL_INDEX } from './controllers/caches.ts';
export {
  type ApiServerConfig,
  apiServerConfigs,
  type ClusterSettingsSource,
  fixedSettings,
  watchedSettings,
} from './controllers/cluster-settings.ts';
export { machineConfigCrds } from './crd/crds.ts';
export * from './daemon/index.ts';
export * from './drain/index.ts';
export * from './ignition/index.ts';
export {
  API_VERSION as MACHINE_CONFIG_API_VERSION,
  GROUP as MACHINE_CONFIG_GROUP,
  VERSION as MACHINE_CONFIG_VERSION,
} from './kinds/group.ts';
export * from './kinds/index.ts';
export * from './kinds/resources.ts';
export * from './kubelet/index.ts';
export * from './machines/index.ts';
export * from './node-config/index.ts';
export * from './offline/index.ts';
export { createUpdateController, type UpdateControllerOptions } from './pool/controller.ts';
export * from './pool/index.ts';
export { registerPoolMetrics } from './pool/metrics.ts';
export { createRenderController, type RenderControllerOptions } from './render/controller.ts';
export * from './render/index.ts';
export * from './runtime/index.ts';
export * from './server/index.ts';
export * from './templates/index.ts';
