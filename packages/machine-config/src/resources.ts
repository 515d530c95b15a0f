import type { ResourceDefinition } from '@mcm/kube';
import { GROUP, VERSION } from './group.ts';
import type { ContainerRuntimeConfig } from './kinds/container-runtime-config.ts';
import type { ControllerConfig } from './kinds/controller-config.ts';
import type { KubeletConfig } from './kinds/kubelet-config.ts';
import type { MachineConfig } from './kinds/machine-config.ts';
import type { MachineConfigPool } from './kinds/machine-config-pool.ts';

const clusterScoped = { group: GROUP, version: VERSION, namespaced: false } as const;

/** How the kinds of this package are reached. All are cluster-scoped. */
export const machineConfigs: ResourceDefinition<MachineConfig> = {
  ...clusterScoped,
  ...{ plural: 'machineconfigs', kind: 'MachineConfig' },
};
/** Where MachineConfigPools are read and written. */
export const machineConfigPools: ResourceDefinition<MachineConfigPool> = {
  ...clusterScoped,
  ...{ plural: 'machineconfigpools', kind: 'MachineConfigPool' },
};
/** Where ControllerConfigs are read and written. */
export const controllerConfigs: ResourceDefinition<ControllerConfig> = {
  ...clusterScoped,
  ...{ plural: 'controllerconfigs', kind: 'ControllerConfig' },
};
/** Where KubeletConfigs are read and written. */
export const kubeletConfigs: ResourceDefinition<KubeletConfig> = {
  ...clusterScoped,
  ...{ plural: 'kubeletconfigs', kind: 'KubeletConfig' },
};
/** Where ContainerRuntimeConfigs are read and written. */
export const containerRuntimeConfigs: ResourceDefinition<ContainerRuntimeConfig> = {
  ...clusterScoped,
  ...{ plural: 'containerruntimeconfigs', kind: 'ContainerRuntimeConfig' },
};
