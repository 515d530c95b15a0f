import * as z from 'zod';
import type { MachineSetConditionType } from '../constants/conditions.ts';
import { DEFAULT_REPLICAS } from './default-values.ts';
import { count, crd, int32, int64, knownText, objectMeta, optional } from './fields.ts';
import { API_VERSION } from './group.ts';
import { machineTemplateSpecSchema, SELECTOR_RULES } from './machine-template.ts';
import {
  blockedByField,
  CONDITION_FIELDS,
  labelSelectorSchema,
  lastOperationSchema,
  legacyClassReferenceSchema,
  machineSummarySchema,
} from './shared.ts';

export const machineSetSpecSchema = crd(
  z.object({
    replicas: optional(count('Desired number of machines.', { default: DEFAULT_REPLICAS })),
    selector: labelSelectorSchema,
    template: machineTemplateSpecSchema,
    machineClass: optional(legacyClassReferenceSchema),
    minReadySeconds: optional(
      count(
        'mcm only exposes minReadySeconds as a metric. minReadySeconds has no effect on the availability of machines.',
      ),
    ),
    autoPreserveFailedMachineMax: optional(
      count('Maximum number of Failed machines that mcm preserves automatically in the MachineSet.'),
    ),
  }),
  { description: 'Desired state of the MachineSet.', 'x-kubernetes-validations': SELECTOR_RULES },
);

/** Spec of a MachineSet. */
export type MachineSetSpec = z.infer<typeof machineSetSpecSchema>;

const machineSetConditionSchema = z
  .object({
    type: knownText<MachineSetConditionType>(
      '`ReplicaFailure`, `Frozen`; with a problem `InvalidSpec` or `ReplacementHeld`.',
    ),
    ...CONDITION_FIELDS,
  })
  .meta({ description: 'A condition of the MachineSet.' });

/** A condition of a MachineSet. */
export type MachineSetCondition = z.infer<typeof machineSetConditionSchema>;

const machineSetStatusSchema = z
  .object({
    replicas: optional(int32('Number of machines of the MachineSet, including terminating machines.')),
    fullyLabeledReplicas: optional(int32('Number of machines with all labels of the template.')),
    readyReplicas: optional(int32('Number of machines that are Running.')),
    availableReplicas: optional(int32('Number of machines that are Available or Running.')),
    preservedFailedReplicas: optional(int32('Number of Failed machines that mcm preserves.')),
    autoPreserveFailedMachineCount: optional(int32('Number of machines that mcm preserves automatically.')),
    observedGeneration: optional(int64('metadata.generation of the most recent spec that the manager observed.')),
    machineSetCondition: optional(
      z.array(machineSetConditionSchema).meta({ description: 'Conditions of the MachineSet.' }),
    ),
    lastOperation: optional(lastOperationSchema),
    failedMachines: optional(
      z.array(machineSummarySchema).meta({ description: 'Machines whose last operation failed.' }),
    ),
    blockedBy: blockedByField,
  })
  .meta({ description: 'Observed state of the MachineSet, which the manager writes.' });

/** Status of a MachineSet. */
export type MachineSetStatus = z.infer<typeof machineSetStatusSchema>;

/** Schema of a MachineSet: a number of equal machines. */
export const machineSetSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineSet'),
    metadata: objectMeta,
    spec: machineSetSpecSchema,
    status: optional(machineSetStatusSchema),
  }),
  { description: 'A MachineSet keeps the desired number of machines with one template.' },
);

/** A number of equal machines. */
export type MachineSet = z.infer<typeof machineSetSchema>;
