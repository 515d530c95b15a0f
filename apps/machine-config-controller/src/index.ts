export { machineConfigController, TEMPLATES } from './binary.ts';
export {
  CONTROLLERS,
  type ConfigControllers,
  type ConfigSettings,
  type ConfigSurroundings,
  createConfigControllers,
  DEFAULT_CONFIG_SETTINGS,
} from './controllers.ts';
