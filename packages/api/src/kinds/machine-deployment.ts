import * as z from 'zod';
import type { MachineDeploymentConditionType } from '../constants/conditions.ts';
import {
  DEFAULT_IN_PLACE_UPDATE,
  DEFAULT_REPLICAS,
  DEFAULT_ROLLING_UPDATE,
  DEFAULT_STRATEGY,
} from './default-values.ts';
import {
  type CelRule,
  count,
  crd,
  flag,
  int32,
  int64,
  intOrPercent,
  knownText,
  objectMeta,
  optional,
  time,
} from './fields.ts';
import { API_VERSION } from './group.ts';
import { machineTemplateSpecSchema, SELECTOR_RULES } from './machine-template.ts';
import { blockedByField, CONDITION_FIELDS, labelSelectorSchema, machineSummarySchema } from './shared.ts';

/** Update strategies. */
export const STRATEGY_TYPES = ['RollingUpdate', 'Recreate', 'InPlaceUpdate'] as const;

/** The values for the selection of nodes in an in-place update: by the controller (`Auto`) or by a user (`Manual`). */
export const ORCHESTRATION_TYPES = ['Auto', 'Manual'] as const;

const isZero = (field: string): string => `(type(${field}) == int ? ${field} == 0 : string(${field}).matches('^0+%$'))`;

/**
 * A typing error such as `250%` would more than triple the number of machines. The original accepts any percentage. The
 * API server accepts a stored invalid percentage while its block does not change (ratcheting).
 */
const percentRule = (name: 'maxSurge' | 'maxUnavailable'): CelRule => ({
  rule: `!has(self.${name}) || type(self.${name}) == int || string(self.${name}).matches('^0*(100|[0-9]{1,2})%$')`,
  message: 'must be an integer of 0 or more, or a percentage from 0% to 100%',
  fieldPath: `.${name}`,
});

const BUDGET_RULES: readonly CelRule[] = [
  {
    rule: `!has(self.maxSurge) || !has(self.maxUnavailable) || !${isZero('self.maxSurge')} || !${isZero('self.maxUnavailable')}`,
    message: 'maxSurge and maxUnavailable must not both be 0, because an update needs one of the two limits',
  },
  percentRule('maxSurge'),
  percentRule('maxUnavailable'),
];

const budget = ({ maxSurge, maxUnavailable }: { maxSurge: number; maxUnavailable: number }) => ({
  maxSurge: optional(
    intOrPercent(
      'Maximum number of machines above spec.replicas during an update: a number, or a percentage of the replicas. mcm rounds the percentage of maxSurge up.',
      {
        default: maxSurge,
      },
    ),
  ),
  maxUnavailable: optional(
    intOrPercent(
      'Maximum number of unavailable machines during an update: a number, or a percentage of the replicas. mcm rounds the percentage of maxUnavailable down.',
      {
        default: maxUnavailable,
      },
    ),
  ),
});

const rollingUpdateSchema = crd(z.object(budget(DEFAULT_ROLLING_UPDATE)), {
  description: 'Limits of a rolling update.',
  'x-kubernetes-validations': BUDGET_RULES,
});

/** Limits of a rolling update. */
export type RollingUpdate = z.infer<typeof rollingUpdateSchema>;

const inPlaceUpdateSchema = crd(
  z.object({
    ...budget(DEFAULT_IN_PLACE_UPDATE),
    orchestrationType: z.enum(ORCHESTRATION_TYPES, { error: 'must be Auto or Manual' }).meta({
      description:
        'Auto: the manager selects the nodes for an in-place update. Manual: a user selects the nodes with a label.',
    }),
  }),
  { description: 'Limits of an in-place update.', 'x-kubernetes-validations': BUDGET_RULES },
);

/** Limits of an in-place update. */
export type InPlaceUpdate = z.infer<typeof inPlaceUpdateSchema>;

const strategySchema = crd(
  z.object({
    type: optional(
      crd(z.enum(STRATEGY_TYPES, { error: 'must be one of InPlaceUpdate, Recreate, RollingUpdate' }), {
        description: 'Type of the update strategy.',
        default: DEFAULT_STRATEGY.type,
      }),
    ),
    rollingUpdate: optional(rollingUpdateSchema),
    inPlaceUpdate: optional(inPlaceUpdateSchema),
  }),
  {
    description: 'Strategy that replaces or updates the machines with an old template.',
    default: DEFAULT_STRATEGY,
    'x-kubernetes-validations': [
      {
        rule: "!has(self.type) || self.type != 'RollingUpdate' || has(self.rollingUpdate)",
        message: 'must be set for the type RollingUpdate, such as {maxSurge: 1, maxUnavailable: 0}',
        fieldPath: '.rollingUpdate',
        reason: 'FieldValueRequired',
      },
      {
        rule: "!has(self.type) || self.type != 'InPlaceUpdate' || has(self.inPlaceUpdate)",
        message:
          'must be set for the type InPlaceUpdate, such as {maxSurge: 0, maxUnavailable: 1, orchestrationType: Auto}',
        fieldPath: '.inPlaceUpdate',
        reason: 'FieldValueRequired',
      },
    ],
  },
);

/** The strategy with which the manager replaces or updates machines with an old template. */
export type MachineDeploymentStrategy = z.infer<typeof strategySchema>;

export const machineDeploymentSpecSchema = crd(
  z.object({
    replicas: optional(count('Desired number of machines.', { default: DEFAULT_REPLICAS })),
    selector: labelSelectorSchema,
    template: machineTemplateSpecSchema,
    strategy: optional(strategySchema),
    minReadySeconds: optional(
      count(
        'The manager copies minReadySeconds to the MachineSets. minReadySeconds has no effect on the availability of machines.',
      ),
    ),
    revisionHistoryLimit: optional(
      count(
        'Number of inactive MachineSets that the manager keeps for rollbacks. If revisionHistoryLimit is absent, the manager keeps all MachineSets.',
      ),
    ),
    paused: optional(
      flag('If true, the manager does not roll out a new template. A paused deployment still follows spec.replicas.'),
    ),
    rollbackTo: optional(
      z
        .object({ revision: optional(int64('Revision to restore; 0 or absent means the previous revision.').min(0)) })
        .meta({
          description: 'Requests a rollback of the template. The manager removes rollbackTo after the rollback.',
        }),
    ),
    progressDeadlineSeconds: optional(
      count(
        'Seconds without progress after which the condition Progressing becomes False. If progressDeadlineSeconds is absent, a rollout has no deadline.',
      ),
    ),
    autoPreserveFailedMachineMax: optional(
      count('Maximum number of Failed machines that mcm preserves automatically in each MachineSet.'),
    ),
  }),
  { description: 'Desired state of the deployment.', 'x-kubernetes-validations': SELECTOR_RULES },
);

/** Spec of a MachineDeployment. */
export type MachineDeploymentSpec = z.infer<typeof machineDeploymentSpecSchema>;

const machineDeploymentConditionSchema = z
  .object({
    type: knownText<MachineDeploymentConditionType>(
      '`Available`, `Progressing`, `ReplicaFailure`, `Frozen`; with a problem `InvalidSpec`, `RolloutBlocked`, `RolloutWaiting`, `ReplacementHeld` or `InputIgnored`.',
    ),
    ...CONDITION_FIELDS,
    lastUpdateTime: optional(time('Time at which the manager last wrote the condition.')),
  })
  .meta({ description: 'A condition of the deployment.' });

/** A condition of a MachineDeployment. */
export type MachineDeploymentCondition = z.infer<typeof machineDeploymentConditionSchema>;

const machineDeploymentStatusSchema = z
  .object({
    observedGeneration: optional(int64('metadata.generation of the most recent spec that the manager observed.')),
    replicas: optional(int32('Number of machines of all MachineSets.')),
    updatedReplicas: optional(int32('Number of machines of the current MachineSet.')),
    readyReplicas: optional(int32('Number of machines that are Running.')),
    availableReplicas: optional(int32('Number of machines that are Available or Running.')),
    preservedFailedReplicas: optional(int32('Number of Failed machines that mcm preserves.')),
    unavailableReplicas: optional(int32('Number of desired machines that are not available.')),
    conditions: optional(
      z.array(machineDeploymentConditionSchema).meta({ description: 'Conditions of the deployment.' }),
    ),
    collisionCount: optional(int32('Number of name conflicts during the creation of new MachineSets.')),
    failedMachines: optional(
      z.array(machineSummarySchema).meta({ description: 'Machines whose last operation failed.' }),
    ),
    blockedBy: blockedByField,
  })
  .meta({ description: 'Observed state of the deployment, which the manager writes.' });

/** Status of a MachineDeployment. */
export type MachineDeploymentStatus = z.infer<typeof machineDeploymentStatusSchema>;

/** Schema of a MachineDeployment: a group of machines with one template and rolling updates. */
export const machineDeploymentSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineDeployment'),
    metadata: objectMeta,
    spec: machineDeploymentSpecSchema,
    status: optional(machineDeploymentStatusSchema),
  }),
  { description: 'A group of machines with one template. The manager rolls out changes of the template.' },
);

/** A group of machines with one template. The manager rolls out changes of a machine template. */
export type MachineDeployment = z.infer<typeof machineDeploymentSchema>;
