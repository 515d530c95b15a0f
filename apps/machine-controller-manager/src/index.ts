export { machineControllerManager } from './binary.ts';
export {
  type Controllers,
  createControllers,
  DEFAULT_SETTINGS,
  type Environment,
  type ManagerSettings,
} from './controllers.ts';
export { type RunningManager, runManager } from './run.ts';
