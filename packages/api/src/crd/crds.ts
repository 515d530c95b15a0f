import { machineSchema } from '../kinds/machine.ts';
import { machineClassSchema } from '../kinds/machine-class.ts';
import { machineDeploymentSchema } from '../kinds/machine-deployment.ts';
import { machineSetSchema } from '../kinds/machine-set.ts';
import {
  type CustomResourceDefinition,
  customResourceDefinition,
  type PrinterColumn,
} from './custom-resource-definition.ts';
import { machineClasses, machineDeployments, machineSets, machines } from './resources.ts';

const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Age of the object.',
};

const integer = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: 'integer',
  jsonPath,
  description,
});

const BLOCKED_BY: PrinterColumn = {
  name: 'BlockedBy',
  type: 'string',
  jsonPath: '.status.blockedBy[0].cause',
  description: 'First reason why the controller waits.',
  priority: 1,
};

const machineCrd = customResourceDefinition(machines, machineSchema, {
  shortName: 'mc',
  // The name of a Machine becomes a label value on its Node, and a label value has at most 63 characters.
  maxNameLength: 63,
  status: true,
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.currentStatus.phase', description: 'Phase of the machine.' },
    AGE,
    {
      name: 'Node',
      type: 'string',
      jsonPath: '.metadata.labels.node',
      description: 'Name of the Node of the machine.',
    },
    {
      name: 'ProviderID',
      type: 'string',
      jsonPath: '.spec.providerID',
      description: 'Provider ID of the VM of the machine.',
      priority: 1,
    },
    BLOCKED_BY,
  ],
});

const machineSetCrd = customResourceDefinition(machineSets, machineSetSchema, {
  shortName: 'mcs',
  status: true,
  scale: true,
  columns: [
    integer('Desired', '.spec.replicas', 'Desired number of machines.'),
    integer('Current', '.status.replicas', 'Current number of machines.'),
    integer('Ready', '.status.readyReplicas', 'Number of machines that are Running.'),
    AGE,
    BLOCKED_BY,
  ],
});

const machineDeploymentCrd = customResourceDefinition(machineDeployments, machineDeploymentSchema, {
  shortName: 'mcd',
  status: true,
  scale: true,
  columns: [
    integer('Ready', '.status.readyReplicas', 'Number of machines that are Running.'),
    integer('Desired', '.spec.replicas', 'Desired number of machines.'),
    integer('Up-to-date', '.status.updatedReplicas', 'Number of machines with the current template.'),
    integer('Available', '.status.availableReplicas', 'Number of machines that are Available or Running.'),
    AGE,
    BLOCKED_BY,
  ],
});

const machineClassCrd = customResourceDefinition(machineClasses, machineClassSchema, { shortName: 'mcc' });

/** The CRDs of all kinds, built from the schemas. `deploy/crds` contains the CRDs as YAML. */
export const crds: readonly CustomResourceDefinition[] = [
  machineCrd,
  machineSetCrd,
  machineDeploymentCrd,
  machineClassCrd,
];
