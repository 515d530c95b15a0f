export {
  type ContainerRuntimeConfig,
  type ContainerRuntimeConfiguration,
  containerRuntimeConfigSchema,
  containerRuntimeConfigurationSchema,
} from './container-runtime-config.ts';
export {
  type ControllerConfig,
  type ControllerConfigSpec,
  type ControllerConfigStatus,
  controllerConfigSchema,
  controllerConfigSpecSchema,
} from './controller-config.ts';
export {
  type KubeletConfig,
  type KubeletConfigSpec,
  kubeletConfigSchema,
  kubeletConfigSpecSchema,
} from './kubelet-config.ts';
export {
  type MachineConfig,
  type MachineConfigSpec,
  machineConfigSchema,
  machineConfigSpecSchema,
} from './machine-config.ts';
export {
  type MachineConfigPool,
  type MachineConfigPoolSpec,
  type MachineConfigPoolStatus,
  type MachineRef,
  machineConfigPoolSchema,
  machineConfigPoolSpecSchema,
  machineRefSchema,
  type PoolConfiguration,
  poolConfigurationSchema,
  UPDATE_STRATEGIES,
  type UpdateStrategy,
} from './machine-config-pool.ts';
export type { ConfigCondition, ObjectReference } from './shared.ts';
