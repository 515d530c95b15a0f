import { z } from 'zod';
import { parseDuration } from '../values/duration.ts';

const duration = z
  .string()
  .refine((text) => text === '' || parseDuration(text) !== undefined, 'must be a duration such as 500ms or 5s');

/** The provider spec of both backends. Unknown fields are accepted, as in the original, and cause a warning. */
export const LocalProviderSpec = z.looseObject({
  apiVersion: z.string().optional().meta({ description: 'Not used.' }),
  image: z
    .string()
    .min(1, 'must not be empty')
    .meta({ description: 'Image of the machine: an image of the cloud, or the node image of the Pod.' }),
  machineType: z
    .string()
    .optional()
    .meta({ description: 'Backend cloud: machine type of the instance; default `local`.' }),
  instanceType: z.string().optional().meta({ description: 'Backend cloud: another name of `machineType`.' }),
  zone: z.string().optional().meta({ description: 'Backend cloud: zone of the instance; default: the first zone.' }),
  tags: z.record(z.string(), z.string()).optional().meta({
    description:
      'Backend cloud: tags of the instance. `kubernetes.io/cluster/…` and `kubernetes.io/role/…` identify the instances of a cluster.',
  }),
  volumes: z
    .array(z.looseObject({ sizeGi: z.int().positive().meta({ description: 'Size in GiB.' }) }))
    .optional()
    .meta({ description: 'Backend cloud: disks of the machine. The cloud deletes these disks with the machine.' }),
  bootLatency: duration.optional().meta({ description: 'Backend cloud: boot time of the machine, such as `5s`.' }),
  namespace: z.string().optional().meta({
    description:
      'Backend pod: namespace of the Pods; default: the namespace of the Machine; for an orphan, the namespace of the class.',
  }),
  ipPoolNameV4: z
    .string()
    .optional()
    .meta({ description: 'Backend pod: name of a calico IPPool for the addresses of the Pod.' }),
  ipPoolNameV6: z
    .string()
    .optional()
    .meta({ description: 'Backend pod: name of a calico IPPool for the addresses of the Pod.' }),
});
export type LocalProviderSpec = z.infer<typeof LocalProviderSpec>;

/** The decoded data of the class's Secrets. */
export const LocalCredentials = z.looseObject({
  userData: z.string().meta({ description: 'User data of the machine, any bytes; may be empty.' }),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .meta({
      description:
        'Backend cloud: address of the cloud; default: the variable `MCM_LOCAL_CLOUD_ENDPOINT` of the process.',
    }),
  token: z.string().min(1).optional().meta({ description: 'Backend cloud: bearer token for the cloud.' }),
  kubeconfig: z.string().optional().meta({
    description: 'Backend pod: kubeconfig of the cluster of the Pods. If kubeconfig is present, each machine is a Pod.',
  }),
});
export type LocalCredentials = z.infer<typeof LocalCredentials>;
