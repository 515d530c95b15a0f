import { crd, flag, objectMeta, optional, text } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { rawObject } from './shared.ts';

const list = (description: string) =>
  optional(crd(z.array(z.string()).nullable(), { description, 'x-kubernetes-list-type': 'atomic' }));

/** Spec of a MachineConfig: what is on a machine. */
export const machineConfigSpecSchema = z
  .object({
    osImageURL: optional(text('Image of the operating system. Rendered MachineConfigs always have it.')),
    baseOSExtensionsContainerImage: optional(text('Image that holds the packages of OS extensions.')),
    config: optional(rawObject('An Ignition config of version 2.2 or 3.0 to 3.5, as JSON.')),
    kernelArguments: list('Kernel arguments of the host, in order.'),
    extensions: list('OS extensions.'),
    fips: optional(flag('Whether FIPS mode is on. May not change on a running machine.')),
    kernelType: optional(text('`default`, `realtime` or `64k-pages`; empty means default.')),
  })
  .meta({ description: 'What is on a machine.' });

/** Spec of a MachineConfig. */
export type MachineConfigSpec = z.infer<typeof machineConfigSpecSchema>;

/** A part of what is on machines, or, if rendered, all of it. */
export const machineConfigSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineConfig'),
    metadata: objectMeta,
    spec: optional(machineConfigSpecSchema),
  }),
  { description: 'A part of what is on the machines of a pool; a rendered one is all of it.' },
);

/** A MachineConfig. */
export type MachineConfig = z.infer<typeof machineConfigSchema>;
