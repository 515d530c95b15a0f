import { type CustomResourceDefinition, customResourceDefinition, type PrinterColumn } from '@mcm/api/crd';
import { containerRuntimeConfigSchema } from '../kinds/container-runtime-config.ts';
import { controllerConfigSchema } from '../kinds/controller-config.ts';
import { kubeletConfigSchema } from '../kinds/kubelet-config.ts';
import { machineConfigSchema } from '../kinds/machine-config.ts';
import { machineConfigPoolSchema } from '../kinds/machine-config-pool.ts';
import {
  containerRuntimeConfigs,
  controllerConfigs,
  kubeletConfigs,
  machineConfigPools,
  machineConfigs,
} from '../kinds/resources.ts';

const labels = { 'openshift.io/operator-managed': '' };

const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Age of the object.',
};

const text = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: 'string',
  jsonPath,
  description,
});

const count = (name: string, field: string, description: string): PrinterColumn => ({
  name,
  type: 'integer',
  jsonPath: `.status.${field}`,
  description,
});

const condition = (type: string): PrinterColumn =>
  text(type, `.status.conditions[?(@.type=="${type}")].status`, `Whether the pool is ${type}.`);

// In mcm, the short name `mc` belongs to Machine, and in the original to MachineConfig.
const machineConfigCrd = customResourceDefinition(machineConfigs, machineConfigSchema, {
  labels,
  shortName: 'mcfg',
  columns: [
    text(
      'GeneratedByController',
      '.metadata.annotations.machineconfiguration\\.openshift\\.io/generated-by-controller-version',
      'Version of the controller that wrote the object.',
    ),
    text('IgnitionVersion', '.spec.config.ignition.version', 'Version of the Ignition config.'),
    AGE,
  ],
});

const machineConfigPoolCrd = customResourceDefinition(machineConfigPools, machineConfigPoolSchema, {
  labels,
  shortName: 'mcp',
  status: true,
  columns: [
    text('Config', '.status.configuration.name', 'Name of the target configuration.'),
    ...['Updated', 'Updating', 'Degraded'].map(condition),
    count('MachineCount', 'machineCount', 'Nodes.'),
    count('ReadyMachineCount', 'readyMachineCount', 'Number of Ready nodes that have the target configuration.'),
    count('UpdatedMachineCount', 'updatedMachineCount', 'Number of nodes that have the target configuration.'),
    count('DegradedMachineCount', 'degradedMachineCount', 'Degraded nodes.'),
    AGE,
  ],
});

/** The CRDs for machine configs, generated from the schemas. */
export const machineConfigCrds: readonly CustomResourceDefinition[] = [
  machineConfigCrd,
  machineConfigPoolCrd,
  customResourceDefinition(controllerConfigs, controllerConfigSchema, { labels, status: true }),
  customResourceDefinition(kubeletConfigs, kubeletConfigSchema, { labels, status: true }),
  customResourceDefinition(containerRuntimeConfigs, containerRuntimeConfigSchema, {
    labels,
    shortName: 'ctrcfg',
    status: true,
  }),
];
