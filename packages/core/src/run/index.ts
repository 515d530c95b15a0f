export { openTraces, type Traces, type TracesContext } from '../tracing/open.ts';
export type { RolloutSources } from '../tracing/rollout.ts';
export { buildMachineController, type MachineController } from './build.ts';
export { checkMachineFlags, MACHINE_FEATURES, machineDefaultsOf, machineFlags, machineOptionsOf } from './flags.ts';
export { hasReplicas } from './has-replicas.ts';
export {
  type ConfiguredDriver,
  type MachineControllerSettings,
  machineControllerBinary,
  type ProviderSettings,
  processContext,
  runMachineController,
} from './main.ts';
export type { MachineControllerOptions } from './options.ts';
export {
  endpointFlag,
  endpointsInForce,
  type GivenSetting,
  plainHttpFlag,
  SettingSources,
  switchFlag,
  type Variables,
} from './settings.ts';
