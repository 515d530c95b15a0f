import * as z from 'zod';
import type { ConditionStatus } from '../constants/conditions.ts';
import { crd, flag, knownText, labelMap, optional, stringMap, text, time } from './fields.ts';
import { CONDITION_FIELDS } from './shared.ts';

const taintSchema = z
  .object({
    key: z.string().min(1, { error: 'must not be empty' }).meta({ description: 'Taint key.' }),
    effect: z
      .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], {
        error: 'must be one of NoSchedule, PreferNoSchedule, NoExecute',
      })
      .meta({ description: 'Effect of the taint on pods without a toleration.' }),
    value: optional(text('Taint value.')),
    timeAdded: optional(time('Time at which the taint was added.')),
  })
  .meta({ description: 'A taint.' });

/** A taint of a node. */
export type Taint = z.infer<typeof taintSchema>;

const configSourceSchema = z
  .object({
    configMap: optional(
      z
        .object({
          kubeletConfigKey: text('Key of the kubelet configuration in the ConfigMap.'),
          name: text('Name of the ConfigMap.'),
          namespace: text('Namespace of the ConfigMap.'),
          resourceVersion: optional(text('Resource version of the ConfigMap.')),
          uid: optional(text('UID of the ConfigMap.')),
        })
        .meta({ description: 'A ConfigMap.' }),
    ),
  })
  .meta({ description: 'mcm stores configSource, but does not apply it to the Node.' });

const nodeSpecSchema = z
  .object({
    taints: optional(
      crd(z.array(taintSchema), { description: 'Taints for the node.', 'x-kubernetes-list-type': 'atomic' }),
    ),
    podCIDR: optional(text('mcm stores podCIDR, but does not apply it to the Node.')),
    podCIDRs: optional(
      crd(z.array(z.string()), {
        description: 'mcm stores podCIDRs, but does not apply them to the Node.',
        'x-kubernetes-list-type': 'set',
      }),
    ),
    providerID: optional(text('mcm stores providerID, but does not apply it to the Node.')),
    unschedulable: optional(flag('mcm stores unschedulable, but does not apply it to the Node.')),
    externalID: optional(text('mcm stores externalID, but does not apply it to the Node.')),
    configSource: optional(configSourceSchema),
  })
  .meta({ description: 'Spec of the Node. The machine controller applies only the taints to the Node.' });

const nodeMetadataSchema = crd(
  z.object({
    labels: optional(labelMap('Labels for the node.')),
    annotations: optional(stringMap('Annotations for the node.')),
  }),
  { description: 'Metadata of the node.', 'x-kubernetes-preserve-unknown-fields': true },
);

export const nodeTemplateSpecSchema = z
  .object({ metadata: optional(nodeMetadataSchema), spec: optional(nodeSpecSchema) })
  .meta({
    description: 'Labels, annotations and taints of the node. A change of nodeTemplate does not replace machines.',
  });

/** Labels, annotations, taints and capacity that the machine controller copies to the Node of a machine. */
export type NodeTemplateSpec = z.infer<typeof nodeTemplateSpecSchema>;

export const nodeAddressSchema = z
  .object({
    address: text('The address.'),
    type: knownText<'Hostname' | 'ExternalIP' | 'InternalIP' | 'ExternalDNS' | 'InternalDNS'>(
      '`Hostname`, `ExternalIP`, `InternalIP`, `ExternalDNS` or `InternalDNS`.',
    ),
  })
  .meta({ description: 'An address of the machine.' });

/** An address of a machine. */
export type NodeAddress = z.infer<typeof nodeAddressSchema>;

export const nodeConditionSchema = z
  .object({
    type: text('Condition type.'),
    ...CONDITION_FIELDS,
    lastHeartbeatTime: optional(time('Time at which the node last reported the condition.')),
  })
  .meta({ description: 'A condition of the node.' });

/** A condition of a node. */
export interface NodeCondition {
  type: string;
  status: ConditionStatus;
  lastTransitionTime?: string;
  lastHeartbeatTime?: string;
  reason?: string;
  message?: string;
}
