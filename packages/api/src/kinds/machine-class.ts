import * as z from 'zod';
import { crd, objectMeta, optional, quantity, text } from './fields.ts';
import { API_VERSION } from './group.ts';
import { secretReferenceSchema } from './shared.ts';

const nonEmpty = (description: string) => z.string().min(1, { error: 'must not be empty' }).meta({ description });

const nodeTemplateSchema = crd(
  z.object({
    capacity: crd(z.record(z.string(), quantity('An amount.')), {
      description: 'Resources of a node; cpu, gpu and memory are required.',
      maxProperties: 128,
      'x-kubernetes-validations': [
        {
          rule: "'cpu' in self && 'gpu' in self && 'memory' in self",
          message: 'must contain cpu, gpu and memory; gpu may be "0"',
        },
      ],
    }),
    virtualCapacity: optional(
      crd(z.record(z.string(), quantity('An amount.')), {
        description: 'Extended resources that the machine controller adds to the capacity of the nodes.',
        maxProperties: 128,
      }),
    ),
    instanceType: nonEmpty('Instance type of the VM.'),
    region: nonEmpty('Region of the VM.'),
    zone: nonEmpty('Zone of the VM.'),
    architecture: optional(text('CPU architecture, such as `amd64` or `arm64`.')),
  }),
  {
    description:
      'Resources and location of a node. The cluster autoscaler reads nodeTemplate to scale up a group without nodes.',
    'x-kubernetes-preserve-unknown-fields': true,
  },
);

/** The capacity of the nodes of a MachineClass. */
export type NodeTemplate = z.infer<typeof nodeTemplateSchema>;

/** A MachineClass describes the VMs of one provider. */
export const machineClassSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineClass'),
    metadata: objectMeta,
    providerSpec: crd(z.record(z.string(), z.unknown()), {
      description:
        'Settings of the VM, such as its image. The driver of the provider defines the fields of providerSpec.',
      'x-kubernetes-preserve-unknown-fields': true,
    }),
    provider: optional(
      text('Name of the provider of the class. A driver refuses a class with the name of another provider.'),
    ),
    secretRef: optional(
      secretReferenceSchema(
        'Secret with the user data. If credentialsSecretRef is absent, the Secret of secretRef also contains the credentials.',
      ),
    ),
    credentialsSecretRef: optional(
      secretReferenceSchema(
        'Secret with the credentials for the cloud. The keys of credentialsSecretRef take precedence over the keys of secretRef.',
      ),
    ),
    nodeTemplate: optional(nodeTemplateSchema),
  }),
  { description: 'Settings for the VMs of machines on one provider.' },
);

/** The settings of the VMs of machines, for one provider. */
export type MachineClass = z.infer<typeof machineClassSchema>;
