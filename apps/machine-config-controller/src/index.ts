export { machineConfigController, TEMPLATES } from './binary.ts';
export {
  type ConfigServer,
  type ConfigServerContext,
  type ConfigServerSettings,
  registerConfigServerMetrics,
  serverNames,
  startConfigServer,
} from './config-server.ts';
export {
  CONTROLLERS,
  type ConfigControllerOptions,
  type ConfigControllers,
  type ConfigSettings,
  createConfigControllers,
  DEFAULT_CONFIG_SETTINGS,
} from './controllers.ts';
