import * as z from 'zod';
import type { ConditionStatus } from '../constants/conditions.ts';
import type { MachineOperationType, MachineState } from '../constants/machine-phases.ts';
import { crd, knownText, labelKey, labelMap, labelValue, optional, stringMap, text, time } from './fields.ts';

const CLASS_GROUP = optional(
  text('API group of the MachineClass. The controllers ignore apiGroup and find the MachineClass by its name.'),
);
const CLASS_KIND = crd(z.string(), { description: 'Kind of the class: `MachineClass`.', maxLength: 253 });
const CLASS_NAME = crd(z.string(), { description: 'Name of a MachineClass in the same namespace.', maxLength: 253 });

export const classReferenceSchema = crd(z.object({ apiGroup: CLASS_GROUP, kind: CLASS_KIND, name: CLASS_NAME }), {
  description: 'The MachineClass with the settings of the VM.',
  'x-kubernetes-validations': [
    {
      rule: "self.kind != ''",
      message: 'must not be empty: the kind of the class, such as MachineClass',
      fieldPath: '.kind',
      reason: 'FieldValueRequired',
    },
    {
      rule: "self.name != ''",
      message: 'must not be empty: the name of a MachineClass in the same namespace',
      fieldPath: '.name',
      reason: 'FieldValueRequired',
    },
  ],
});

/** A class reference may be empty, because the original always writes `machineClass: {}` into a MachineSet. */
export const legacyClassReferenceSchema = crd(
  z.object({ apiGroup: CLASS_GROUP, kind: optional(CLASS_KIND), name: optional(CLASS_NAME) }),
  {
    description: 'Deprecated reference to the MachineClass, which only metrics use. Use `template.spec.class` instead.',
  },
);

/** Reference to a MachineClass. */
export type ClassReference = z.infer<typeof classReferenceSchema>;

const labelSelectorRequirementSchema = crd(
  z.object({
    key: labelKey('Label key.'),
    operator: z
      .enum(['In', 'NotIn', 'Exists', 'DoesNotExist'], {
        error: 'must be one of In, NotIn, Exists, DoesNotExist',
      })
      .meta({ description: 'Operator that compares the label with the values.' }),
    values: optional(
      crd(z.array(labelValue()), {
        description:
          'Values for the operators In and NotIn. The operators Exists and DoesNotExist require an empty list of values.',
        maxItems: 64,
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  }),
  {
    'x-kubernetes-validations': [
      {
        rule: "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
        message: 'must contain at least one value for In and NotIn, and no values for Exists and DoesNotExist',
        fieldPath: '.values',
      },
    ],
  },
);

/** One requirement of a label selector. */
export type LabelSelectorRequirement = z.infer<typeof labelSelectorRequirementSchema>;

/** The schema of a label selector. An object must match all labels and requirements of a selector. */
export const labelSelectorSchema = crd(
  z.object({
    matchLabels: optional(labelMap('Labels that a selected object must have.', 64)),
    matchExpressions: optional(
      crd(z.array(labelSelectorRequirementSchema), {
        description: 'Additional requirements for the labels of a selected object.',
        maxItems: 32,
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  }),
  {
    description:
      'Selects the machines of the object by their labels. The labels of the template must match the selector.',
    'x-kubernetes-map-type': 'atomic',
  },
);

/** A label selector. */
export type LabelSelector = z.infer<typeof labelSelectorSchema>;

export const secretReferenceSchema = (description: string) =>
  crd(
    z.object({
      name: optional(text('Name of the Secret.')),
      namespace: optional(text('Namespace of the Secret, which must be the namespace of the controllers.')),
    }),
    { description, 'x-kubernetes-map-type': 'atomic' },
  );

/** Reference to a Secret. */
export type SecretReference = z.infer<ReturnType<typeof secretReferenceSchema>>;

/** New machines get the labels, annotations and finalizers of the template; mcm ignores other metadata. */
export const templateMetadataSchema = crd(
  z.object({
    labels: optional(labelMap('Labels of the machines.')),
    annotations: optional(stringMap('Annotations of the machines.')),
    finalizers: optional(z.array(z.string()).meta({ description: 'Finalizers of the machines.' })),
  }),
  {
    description: 'Labels, annotations and finalizers of new machines.',
    'x-kubernetes-preserve-unknown-fields': true,
  },
);

/** Metadata of a machine template. */
export type TemplateMetadata = z.infer<typeof templateMetadataSchema>;

export const lastOperationSchema = z
  .object({
    description: optional(
      text(
        'Description of the operation. During a deletion, the machine controller reads the current step from the description.',
      ),
    ),
    errorCode: optional(text('Error code of the driver, if the creation or the initialization of the VM failed.')),
    lastUpdateTime: optional(time('Time at which a controller last changed lastOperation.')),
    state: optional(knownText<MachineState>('`Processing`, `Failed` or `Successful`.')),
    type: optional(
      knownText<MachineOperationType>('`Create`, `Update`, `InPlaceUpdate`, `DrainNode`, `HealthCheck` or `Delete`.'),
    ),
  })
  .meta({ description: 'The most recent operation on the machine.' });

/** The last operation on a machine. */
export type LastOperation = z.infer<typeof lastOperationSchema>;

export const machineSummarySchema = z
  .object({
    name: optional(text('Name of the machine.')),
    providerID: optional(text('Provider ID of the VM of the machine.')),
    lastOperation: optional(lastOperationSchema),
    ownerRef: optional(text('Name of the MachineSet that owns the machine.')),
  })
  .meta({ description: 'A failed machine.' });

/** Summary of a failed machine. */
export type MachineSummary = z.infer<typeof machineSummarySchema>;

/** The fields that all conditions in this API group have. */
export const CONDITION_FIELDS = {
  status: knownText<ConditionStatus>('`True`, `False` or `Unknown`.'),
  lastTransitionTime: optional(time('Time at which the status of the condition last changed.')),
  reason: optional(text('Reason for the status of the condition, as one word.')),
  message: optional(text('Explanation of the status of the condition, for users.')),
};

/** The causes for which an object waits. */
export type BlockCause = 'Breaker' | 'Budget' | 'Capacity' | 'Drain' | 'Frozen' | 'Hook' | 'Window';

const blockSchema = z
  .object({
    cause: knownText<BlockCause>('`Breaker`, `Budget`, `Capacity`, `Drain`, `Frozen`, `Hook` or `Window`.'),
    object: optional(
      z
        .object({
          kind: text('Kind of the object, such as `PodDisruptionBudget`, or `Hook` for a hook.'),
          namespace: optional(text('Namespace of the object that the controller waits for.')),
          name: text('Name of the object or hook that the controller waits for.'),
        })
        .meta({
          description: 'The object that the controller waits for, if the controller waits for exactly one object.',
        }),
    ),
    reason: text('Explanation for users.'),
    since: time('Time at which the wait of the controller started.'),
  })
  .meta({ description: 'A reason why the controller waits.' });

/** A reason in `status.blockedBy`. */
export type Block = z.infer<typeof blockSchema>;

export const blockedByField = optional(
  crd(z.array(blockSchema), {
    description: 'Reasons why the controllers wait. The controllers write blockedBy only with the flag `--blocked-by`.',
    'x-kubernetes-list-type': 'atomic',
  }),
);
