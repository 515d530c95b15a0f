import { crd, flag, int32, objectMeta, optional } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { conditions, observedGeneration, rawObject, selector } from './shared.ts';

/** Spec of a KubeletConfig. */
export const kubeletConfigSpecSchema = z
  .object({
    machineConfigPoolSelector: optional(
      selector('Selects pools by their labels. An absent or empty selector selects no pool.'),
    ),
    kubeletConfig: optional(
      rawObject('Fields of a KubeletConfiguration (kubelet.config.k8s.io/v1beta1) for the nodes.').nullable(),
    ),
    autoSizingReserved: optional(flag('If true, nodes compute the resources that they reserve for the system.')),
    logLevel: optional(int32('Verbosity of the kubelet, 0 to 10.')),
    tlsSecurityProfile: optional(
      rawObject('TLS profile of the kubelet, which takes precedence over the TLS profile of the cluster.').nullable(),
    ),
  })
  .meta({ description: 'Settings of the kubelet.' });

/** Spec of a KubeletConfig. */
export type KubeletConfigSpec = z.infer<typeof kubeletConfigSpecSchema>;

const statusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    conditions: conditions('Most recent results for the KubeletConfig.'),
  })
  .meta({ description: 'Observed state of the KubeletConfig.' });

/** Settings of the kubelet on the nodes of the selected pools. */
export const kubeletConfigSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('KubeletConfig'),
    metadata: objectMeta,
    spec: optional(kubeletConfigSpecSchema),
    status: optional(statusSchema),
  }),
  { description: 'Settings of the kubelet on the nodes of the selected pools.' },
);

/** Settings of the kubelet on the nodes of the selected pools. */
export type KubeletConfig = z.infer<typeof kubeletConfigSchema>;
