import { crd, flag, objectMeta, optional, text } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { rawObject } from './shared.ts';

const list = (description: string) =>
  optional(crd(z.array(z.string()).nullable(), { description, 'x-kubernetes-list-type': 'atomic' }));

/** Spec of a MachineConfig: the configuration of a machine. */
export const machineConfigSpecSchema = z
  .object({
    osImageURL: optional(text('Image of the operating system. Rendered MachineConfigs always have an image.')),
    baseOSExtensionsContainerImage: optional(text('Image with the packages of OS extensions.')),
    config: optional(rawObject('An Ignition config of version 2.2 or 3.0 to 3.5, as JSON.')),
    kernelArguments: list('Kernel arguments of the machine, in the order of the kernel command line.'),
    extensions: list('OS extensions.'),
    fips: optional(flag('If true, FIPS mode is enabled. A running machine cannot change its FIPS mode.')),
    kernelType: optional(
      text('Kernel type: `default`, `realtime` or `64k-pages`. An empty kernel type means `default`.'),
    ),
  })
  .meta({ description: 'Configuration of a machine.' });

/** Spec of a MachineConfig. */
export type MachineConfigSpec = z.infer<typeof machineConfigSpecSchema>;

/** A part of the configuration of machines. A rendered MachineConfig is the whole configuration of a pool. */
export const machineConfigSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('MachineConfig'),
    metadata: objectMeta,
    spec: optional(machineConfigSpecSchema),
  }),
  {
    description:
      'One part of the configuration of a pool. A rendered MachineConfig contains the complete configuration of the pool.',
  },
);

/** A MachineConfig. */
export type MachineConfig = z.infer<typeof machineConfigSchema>;
