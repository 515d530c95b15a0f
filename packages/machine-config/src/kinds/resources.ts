import { type StructuralSchema, structuralSchema } from '@mcm/api/crd';
import type { KubeObject, ResourceDefinition } from '@mcm/kube';
import type * as z from 'zod';
import { type ContainerRuntimeConfig, containerRuntimeConfigSchema } from './container-runtime-config.ts';
import { type ControllerConfig, controllerConfigSchema } from './controller-config.ts';
import { GROUP, VERSION } from './group.ts';
import { type KubeletConfig, kubeletConfigSchema } from './kubelet-config.ts';
import { type MachineConfig, machineConfigSchema } from './machine-config.ts';
import { type MachineConfigPool, machineConfigPoolSchema } from './machine-config-pool.ts';

function clusterScoped<T extends KubeObject>(plural: string, kind: string, schema: z.ZodType): ResourceDefinition<T> {
  let shape: StructuralSchema | undefined;
  return {
    ...{ group: GROUP, version: VERSION, namespaced: false, plural, kind },
    get shape() {
      shape ??= structuralSchema(schema);
      return shape;
    },
  };
}

/** How the kinds of this package are reached. All are cluster-scoped. */
export const machineConfigs = clusterScoped<MachineConfig>('machineconfigs', 'MachineConfig', machineConfigSchema);
/** Where MachineConfigPools are read and written. */
export const machineConfigPools = clusterScoped<MachineConfigPool>(
  'machineconfigpools',
  'MachineConfigPool',
  machineConfigPoolSchema,
);
/** Where ControllerConfigs are read and written. */
export const controllerConfigs = clusterScoped<ControllerConfig>(
  'controllerconfigs',
  'ControllerConfig',
  controllerConfigSchema,
);
/** Where KubeletConfigs are read and written. */
export const kubeletConfigs = clusterScoped<KubeletConfig>('kubeletconfigs', 'KubeletConfig', kubeletConfigSchema);
/** Where ContainerRuntimeConfigs are read and written. */
export const containerRuntimeConfigs = clusterScoped<ContainerRuntimeConfig>(
  'containerruntimeconfigs',
  'ContainerRuntimeConfig',
  containerRuntimeConfigSchema,
);
