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
  type ConfigControllers,
  type ConfigSettings,
  type ConfigSurroundings,
  createConfigControllers,
  DEFAULT_CONFIG_SETTINGS,
} from './controllers.ts';
