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
    group: GROUP,
    version: VERSION,
    namespaced: false,
    plural,
    kind,
    get shape() {
      shape ??= structuralSchema(schema);
      return shape;
    },
  };
}

/** The resource of MachineConfigs, which is cluster-scoped like all resources of this package. */
export const machineConfigs = clusterScoped<MachineConfig>('machineconfigs', 'MachineConfig', machineConfigSchema);
/** The resource of MachineConfigPools. */
export const machineConfigPools = clusterScoped<MachineConfigPool>(
  'machineconfigpools',
  'MachineConfigPool',
  machineConfigPoolSchema,
);
/** The resource of ControllerConfigs. */
export const controllerConfigs = clusterScoped<ControllerConfig>(
  'controllerconfigs',
  'ControllerConfig',
  controllerConfigSchema,
);
/** The resource of KubeletConfigs. */
export const kubeletConfigs = clusterScoped<KubeletConfig>('kubeletconfigs', 'KubeletConfig', kubeletConfigSchema);
/** The resource of ContainerRuntimeConfigs. */
export const containerRuntimeConfigs = clusterScoped<ContainerRuntimeConfig>(
  'containerruntimeconfigs',
  'ContainerRuntimeConfig',
  containerRuntimeConfigSchema,
);
