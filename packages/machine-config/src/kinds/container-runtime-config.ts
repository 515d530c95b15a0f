import { crd, int64, objectMeta, optional, text } from '@mcm/api/crd';
import * as z from 'zod';
import { API_VERSION } from './group.ts';
import { conditions, observedGeneration, selector } from './shared.ts';

const quantity = (description: string) =>
  crd(z.union([z.int(), z.string()]), { description, 'x-kubernetes-int-or-string': true, maxLength: 128 });

const stores = (description: string, maxItems: number) =>
  optional(
    crd(z.array(z.looseObject({ path: text('Absolute path.') }).meta({ description: 'A store.' })), {
      description,
      maxItems,
    }),
  );

/** Settings of the container runtime. */
export const containerRuntimeConfigurationSchema = z
  .object({
    pidsLimit: optional(int64('Maximum number of processes of a container; at least 20.')),
    logLevel: optional(text('`error`, `fatal`, `panic`, `warn`, `info`, `debug` or `trace`.')),
    logSizeMax: optional(quantity('Maximum size of a log file in bytes; more than 8192.')),
    overlaySize: optional(quantity('Maximum size of a container image.')),
    defaultRuntime: optional(text('`crun` or `runc`.')),
    additionalLayerStores: stores('Additional storage locations of image layers.', 5),
    additionalImageStores: stores('Additional storage locations of images.', 10),
    additionalArtifactStores: stores('Additional storage locations of artifacts.', 10),
  })
  .meta({ description: 'Settings of the container runtime.' });

/** Settings of the container runtime. */
export type ContainerRuntimeConfiguration = z.infer<typeof containerRuntimeConfigurationSchema>;

const specSchema = z
  .object({
    machineConfigPoolSelector: optional(
      selector('Selects pools by their labels. An absent or empty selector selects no pool.'),
    ),
    containerRuntimeConfig: optional(containerRuntimeConfigurationSchema),
  })
  .meta({ description: 'Settings of the container runtime.' });

const statusSchema = z
  .object({
    observedGeneration: observedGeneration(),
    conditions: conditions('Most recent results for the ContainerRuntimeConfig.'),
  })
  .meta({ description: 'Observed state of the ContainerRuntimeConfig.' });

/** Settings of the container runtime on the nodes of the selected pools. */
export const containerRuntimeConfigSchema = crd(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('ContainerRuntimeConfig'),
    metadata: objectMeta,
    spec: optional(specSchema),
    status: optional(statusSchema),
  }),
  { description: 'Settings of the container runtime on the nodes of the selected pools.' },
);

/** Settings of the container runtime on the nodes of the selected pools. */
export type ContainerRuntimeConfig = z.infer<typeof containerRuntimeConfigSchema>;
