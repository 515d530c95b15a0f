import type { Controller } from '@mcm/kube';
import { ConfigEvents } from '../constants/conditions.ts';
import type { ConfigContext } from '../controllers/caches.ts';
import { containerRuntimeConfigs } from '../kinds/resources.ts';
import { createNodeConfigController, type NodeConfigOptions } from '../node-config/controller.ts';
import { RUNTIME_KIND } from './kind.ts';

/** Creates the controller that writes MachineConfigs for ContainerRuntimeConfigs. */
export const createRuntimeConfigController = (context: ConfigContext, options: NodeConfigOptions): Controller =>
  createNodeConfigController(
    context,
    {
      name: 'container-runtime-config',
      kind: RUNTIME_KIND,
      informer: context.caches.containerRuntimeConfigs,
      definition: containerRuntimeConfigs,
      refused: ConfigEvents.ContainerRuntimeConfigRefused,
    },
    options,
  );
