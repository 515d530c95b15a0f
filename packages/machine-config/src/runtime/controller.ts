import type { Controller } from '@mcm/kube';
import type { ConfigContext } from '../caches.ts';
import { ConfigEvents } from '../constants/conditions.ts';
import { createNodeConfigController, type NodeConfigOptions } from '../node-config/controller.ts';
import { containerRuntimeConfigs } from '../resources.ts';
import { RUNTIME_KIND } from './kind.ts';

/** Makes the MachineConfigs of ContainerRuntimeConfigs. */
export const createRuntimeConfigController = (context: ConfigContext, options: NodeConfigOptions): Controller =>
  createNodeConfigController(
    context,
    {
      ...{ name: 'container-runtime-config', kind: RUNTIME_KIND, informer: context.caches.containerRuntimeConfigs },
      ...{ definition: containerRuntimeConfigs, refused: ConfigEvents.ContainerRuntimeConfigRefused },
    },
    options,
  );
