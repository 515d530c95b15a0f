import { crd, flag, int32, knownText, objectMeta, optional, text, time } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { conditions, objectReferenceSchema, observedGeneration, selector } from './shared.ts';

/** A rendered MachineConfig, and the MachineConfigs that it contains. */
export const poolConfigurationSchema = z
  .object({
    ...objectReferenceSchema.shape,
    source: optional(
      crd(z.array(objectReferenceSchema), {
        description: 'The MachineConfigs in the rendered MachineConfig, in the order of the merge.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  })
  .meta({ description: 'A rendered MachineConfig, and the MachineConfigs that it contains.' });

/** A rendered MachineConfig, and the MachineConfigs that it contains. */
export type PoolConfiguration = z.infer<typeof poolConfigurationSchema>;

/** The schema of a reference to a MachineDeployment or MachineSet with the nodes of the pool. */
export const machineRefSchema = crd(
  z.object({
    apiGroup: optional(text('`machine.sapcloud.io`, the default.')),
    kind: z.enum(['MachineDeployment', 'MachineSet']).meta({ description: 'MachineDeployment or MachineSet.' }),
    namespace: text('Namespace of the MachineDeployment or MachineSet that the pool refers to.'),
    name: text('Name of the referenced object.'),
  }),
  { description: 'A MachineDeployment or MachineSet with the nodes of the pool.', 'x-kubernetes-map-type': 'atomic' },
);

/** A reference to a MachineDeployment or MachineSet with the nodes of the pool. */
export type MachineRef = z.infer<typeof machineRefSchema>;

/** The ways in which running machines get a new configuration. */
export const UPDATE_STRATEGIES = ['InPlace', 'Replace', 'InPlaceElseReplace'] as const;

/** The way in which running machines get a new configuration. */
export type UpdateStrategy = (typeof UPDATE_STRATEGIES)[number];

/**
 * The CRD of the original has no limits for `maxUnavailable`, so stored values may be invalid, and the controller
 * reports them.
 */
const maxUnavailable = crd(z.union([z.int(), z.string()]), {
  description: 'Maximum number of unavailable nodes: a count, or a percentage such as `10%`. Default 1.',
  'x-kubernetes-int-or-string': true,
  maxLength: 10,
  'x-kubernetes-validations': [
    { rule: 'type(self) != int || int(self) >= 0', message: 'must be 0 or more, or a percentage such as "10%"' },
    {
      rule: "type(self) != string || string(self).matches('^[+]?0*(100|[0-9]{1,2})%$')",
      message: 'must be a count such as 1, or a percentage from "1%" to "100%"',
    },
  ],
});

/** Spec of a pool. */
export const machineConfigPoolSpecSchema = crd(
  z.object({
    machineConfigSelector: optional(
      selector(
        'Selects the MachineConfigs of the pool. An absent selector selects no MachineConfig. An empty selector is invalid.',
      ),
    ),
    nodeSelector: optional(selector('Selects the nodes of the pool. An absent or empty selector selects no node.')),
    machineRef: optional(
      crd(machineRefSchema, {
        description:
          'MachineDeployment or MachineSet with the nodes of the pool. The kind of the reference is immutable.',
        'x-kubernetes-validations': [
          {
            rule: 'self.kind == oldSelf.kind',
            message: 'kind is immutable: remove the reference and add a new reference',
          },
        ],
      }),
    ),
    machineRefs: optional(
      crd(z.array(machineRefSchema), {
        description: 'References to several MachineDeployments or MachineSets, such as one for each zone.',
        maxItems: 64,
      }),
    ),
    updateStrategy: optional(
      z.enum(UPDATE_STRATEGIES).meta({ description: '`InPlace`, the default, `Replace` or `InPlaceElseReplace`.' }),
    ),
    paused: optional(
      flag(
        'If true, the controller pauses the rendering and the rollout of the pool. Nodes of a paused pool still receive rotated certificates.',
      ),
    ),
    maxUnavailable: optional(maxUnavailable),
    configuration: optional(poolConfigurationSchema),
    osImageStream: optional(
      z
        .object({ name: optional(text('Name of the OS image stream.')) })
        .meta({ description: 'A named OS image. The machine-config-controller does not support OS image streams.' }),
    ),
  }),
  {
    description: 'Desired state of the pool.',
    'x-kubernetes-validations': [
      {
        rule: '[has(self.nodeSelector), has(self.machineRef), has(self.machineRefs)].filter(x, x).size() <= 1',
        message: 'must have one of nodeSelector, machineRef and machineRefs',
      },
    ],
  },
);

/** Spec of a pool. */
export type MachineConfigPoolSpec = z.infer<typeof machineConfigPoolSpecSchema>;

const certExpirySchema = z
  .object({
    bundle: text('Name of the certificate bundle.'),
    subject: text('Subject of the certificate.'),
    expiry: optional(time('Expiry time of the certificate.')),
  })
  .meta({ description: 'Expiry time of a certificate.' });

const machineRefStatusSchema = z
  .object({
    kind: knownText<'MachineDeployment' | 'MachineSet'>('Kind of the referenced object.'),
    namespace: text('Namespace of the referenced object.'),
    name: text('Name of the referenced object.'),
    machines: int32('Number of machines of the referenced object.'),
    nodes: int32('Number of machines that have a node.'),
    pending: int32('Number of machines without a node.'),
  })
  .meta({
    description: 'Number of machines and nodes of one MachineDeployment or MachineSet that the pool refers to.',
  });

const machineConfigPoolStatusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    configuration: optional(poolConfigurationSchema),
    machineCount: optional(int32('Number of nodes of the pool.')),
    updatedMachineCount: optional(int32('Number of nodes that have the target configuration.')),
    readyMachineCount: optional(int32('Number of Ready nodes that have the target configuration.')),
    unavailableMachineCount: optional(int32('Number of nodes that are being updated, or that are not Ready.')),
    degradedMachineCount: optional(int32('Number of nodes that are Degraded or Unreconcilable.')),
    conditions: conditions('Conditions of the pool.'),
    certExpirys: optional(
      crd(z.array(certExpirySchema), {
        description: 'Expiry times of certificates.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    currentMachineConfig: optional(
      text('Name of the target configuration. Deprecated: use `spec.configuration.name`.'),
    ),
    updatingMachines: optional(int32('Deprecated name of `updatedMachineCount`.')),
    readyMachines: optional(int32('Number of Ready nodes of the pool, with any configuration.')),
    unavailableMachines: optional(int32('Deprecated name of `unavailableMachineCount`.')),
    machineRefs: optional(
      crd(z.array(machineRefStatusSchema), {
        description: 'Number of machines and nodes of each MachineDeployment or MachineSet that the pool refers to.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    pendingMachineCount: optional(int32('Number of machines of the pool that have no node yet.')),
  })
  .meta({ description: 'Observed state of the pool, which the machine-config-controller writes.' });

/** Status of a pool. */
export type MachineConfigPoolStatus = z.infer<typeof machineConfigPoolStatusSchema>;

/** A pool of nodes with one configuration. */
export const machineConfigPoolSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineConfigPool'),
    metadata: objectMeta,
    spec: optional(machineConfigPoolSpecSchema),
    status: optional(machineConfigPoolStatusSchema),
  }),
  { description: 'A group of nodes with the same configuration.' },
);

/** A pool of nodes. */
export type MachineConfigPool = z.infer<typeof machineConfigPoolSchema>;
